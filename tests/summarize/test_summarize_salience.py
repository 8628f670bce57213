"""What a sentence carries."""

import pytest

from ctxmode_cli.summarize.salience import weigh


@pytest.mark.parametrize(
    ("sentence", "constrains"),
    [
        ("I must have a quiet room.", True),
        ("Please, no calls without asking, never.", True),
        ("I can't wait to get it!", False),
        ("You must be joking.", False),
        ("I can't wait, but it must be blue.", True),
        ("我不能吃花生。", True),
        ("能不能帮我查一下订单？", False),
        ("能不能不要香菜？", True),
        ("The parcel is here.", False),
    ],
)
def test_constraints(sentence: str, constrains: bool) -> None:
    """What must or must not be is a constraint; a question whether one can, or a figure of speech, is none."""
    assert weigh(sentence).constrains is constrains


def test_a_constraint_outweighs_small_talk_and_plain_statements() -> None:
    """Of sentences of one length, the one with a constraint carries most, and small talk least."""
    talk, plain, bound = "thanks, all right then", "there is tea in a cup", "it must be tea, a cup"
    assert weigh(talk).salience < weigh(plain).salience < weigh(bound).salience
