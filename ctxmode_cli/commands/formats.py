"""`ctxmode formats`: the formats and compressions that are read and written."""

from ctxmode_cli.commands.console import write_result


def formats() -> None:
    """List the formats and compressions that are read, told by content, and written, told by the extension."""
    from ctxmode_cli.conversation.files import FORMATS
    from ctxmode_cli.conversation.streams import COMPRESSIONS

    for form in FORMATS:
        write_result(f"{form.name:<8} {' '.join(form.extensions):<22} {form.description}\n")
    for compression in COMPRESSIONS:
        write_result(f"{compression.name:<8} {compression.extension:<22} compression of any of them\n")
