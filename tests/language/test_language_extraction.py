"""Which facts a text states: for each rule what it finds and what it must not take for that, worked out by hand."""

import itertools
import re
import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxmode_cli.data import data_file
from ctxmode_cli.language.extraction import extract, holds_several, only_user_states, states_change

RULES = tomllib.loads(data_file("language/extraction.toml").read_text(encoding="utf-8"))["rules"]

# Rule, text, value.
FOUND = [
    ("declined_zh", "我不需要宠物推荐。", "宠物推荐"),
    ("declined_zh", "以后不要再给我推送促销短信了", "促销短信"),
    ("declined_zh", "麻烦别放物业前台，谢谢", "放物业前台"),
    ("declined_zh", "我不喜欢香菜，也不想要赠品小样", "香菜"),
    ("declined_en", "I don't want any pet recommendations.", "pet recommendations"),
    ("declined_en", "I don’t need the extended warranty for that", "extended warranty"),
    ("declined_en", "Please do not send me any more newsletter mails", "newsletter mails"),
    ("declined_en", "I'm not interested in any free samples.", "free samples"),
    ("declined_en", "One thing: no gift wrapping, please", "gift wrapping"),
    ("declined_en", "There is no need for a callback.", "callback"),
    ("declined_en", "Keep in mind: no assembly service, anything else is fine.", "assembly service"),
    ("not_eaten", "我不吃牛肉，", "牛肉"),
    ("not_eaten", "She can't eat any shellfish.", "shellfish"),
    ("allergy", "我妈妈对羊毛过敏，注意一下", "对羊毛过敏"),
    ("allergy", "my son is allergic to goose down", "allergic to goose down"),
    ("allergy", "He has a severe peanut allergy.", "peanut allergy"),
    ("diet_or_access", "We are both vegetarian", "vegetarian"),
    ("diet_or_access", "附近有清真餐厅吗", "清真"),
    ("link", "see “https://example.com/a?b=1”, thanks", "https://example.com/a?b=1"),
    ("email", "发到lin.a@example.com。", "lin.a@example.com"),
    ("iso_date", "on 2024-05-17.", "2024-05-17"),
    ("iso_date", "2026/3/5送到", "2026/3/5"),
    ("iso_date", "by 5/17/2024", "5/17/2024"),
    ("phone", "手机号19930593669，", "19930593669"),
    ("phone", "打 138-0013-8000", "138-0013-8000"),
    ("phone", "打010-65978888", "010-65978888"),
    ("phone", "call 555-123-2002.", "555-123-2002"),
    ("phone", "call (201) 555-0100", "(201) 555-0100"),
    ("phone", "01223 332 360", "01223 332 360"),
    ("phone", "+44 20 7946 0958", "+44 20 7946 0958"),
    ("phone", "拨4008001234，", "4008001234"),
    ("phone", '{"phone": "6597 8888"}', "6597 8888"),
    ("membership_number", "会员号VM7353073", "VM7353073"),
    ("membership_number", '{"member_id": "VM7353073"}', "VM7353073"),
    ("membership_level", "I am a Gold member", "Gold"),
    ("membership_level", '{"membership": "silver"}', "silver"),
    ("membership_level", "我是白金会员", "白金会员"),
    ("order_number", "订单号是QM2026010001", "QM2026010001"),
    ("order_number", "order #W9348897", "#W9348897"),
    ("order_number", '{"order_id": "#W9348897"}', "#W9348897"),
    ("order_number", "about #W9348897", "#W9348897"),
    ("booking_number", "my reservation 8c8k4e", "8c8k4e"),
    ("booking_number", "Your reference number is RMIBUHDE .", "RMIBUHDE"),
    ("account_number", "I'm ivan_muller_7015", "ivan_muller_7015"),
    ("account_number", '"customer_id": "C1001"', "C1001"),
    ("account_number", "账号：lin_77", "lin_77"),
    ("code", "take TR2848 then", "TR2848"),
    ("code", "号码RT40154088，", "RT40154088"),
    ("code", "ticket TK-44917", "TK-44917"),
    ("code", "item 3799046073", "3799046073"),
    ("address_en", "I live at 565 Maple Drive, Suite 501, Washington.", "565 Maple Drive, Suite 501, Washington"),
    ("address_en", "it is 144 thornton road", "144 thornton road"),
    ("postcode", "zip code 46236", "46236"),
    ("postcode", "postcode cb11ps", "cb11ps"),
    ("postcode", "Denver, CO 80265", "80265"),
    ("postcode", "邮编：100080", "100080"),
    ("address_zh", "改成杭州市西湖区文三路12号3幢1502室。", "杭州市西湖区文三路12号3幢1502室"),
    ("address_zh", "地址是北京市东城区东交民巷36号(近正义路)", "北京市东城区东交民巷36号(近正义路)"),
    ("address_zh", "请转寄西四南大街109号", "西四南大街109号"),
    ("address_zh", "位于北京顺义区首都机场国门商务区李天路27号", "北京顺义区首都机场国门商务区李天路27号"),
    ("date_zh", "3月5日送", "3月5日"),
    ("date_zh", "2008年10月15日发行", "2008年10月15日"),
    ("date_zh", "三月十五号", "三月十五号"),
    ("date_zh", "2005年发行", "2005年"),
    ("date_zh", "下周三", "下周三"),
    ("date_zh", "后天到", "后天"),
    ("date_en", "on March 7th, 2024", "March 7th, 2024"),
    ("date_en", "May 21 works", "May 21"),
    ("date_en", "on may 5, 2024", "may 5, 2024"),
    ("date_en", "the 7th of March", "7th of March"),
    ("date_en", "on the 12th", "the 12th"),
    ("date_en", "next friday", "next friday"),
    ("date_en", "come tomorrow", "tomorrow"),
    ("time", "leave at 17:21", "17:21"),
    ("time", "at 3:30 pm.", "3:30 pm"),
    ("time", "at 10 o'clock", "10 o'clock"),
    ("time", "9:00 – 22:00", "9:00 – 22:00"),
    ("time", "晚上7点以后", "晚上7点以后"),
    ("time", "下午三点半", "下午三点半"),
    ("money", "up to US$1,250.50", "$1,250.50"),
    ("money", "23.60 pounds", "23.60 pounds"),
    ("money", "预算500元以内", "500元以内"),
    ("money", "人均50-100元", "50-100元"),
    ("money_named", '{"amount": 405}', "405"),
    ("money_named", "预算是4370。", "4370"),
    ("duration", "玩2小时 - 3小时", "2小时 - 3小时"),
    ("duration", "for 3 nights", "3 nights"),
    ("duration", "大约2小时左右。", "2小时左右"),
    ("quantity", "一共要23份", "23份"),
    ("quantity", "订两张票", "两张"),
    ("quantity", "评分4.5分以上", "4.5分以上"),
    ("quantity", "six people", "six people"),
    ("name_zh", "我叫蒋清辰，", "蒋清辰"),
    ("name_zh", "收件人是欧阳明", "欧阳明"),
    ("name_zh", "我是王先生", "王先生"),
    ("name_en", "my name is Ivan Muller and", "Ivan Muller"),
    ("name_en", '{"first_name": "Daiki"}', "Daiki"),
    ("name_en", "This is Mei Kim.", "Mei Kim"),
    ("name_en", "booked under the name of Kim.", "Kim"),
    ("quoted_title", "《阿飞正传》好看吗", "阿飞正传"),
    ("must", "这单必须送到手上。", "送到手上"),
    ("must", "It must be handed over in person, please", "be handed over in person"),
    ("preferred", "我喜欢靠窗的位子", "靠窗的位子"),
    ("preferred", "I'd prefer a window seat.", "window seat"),
    ("preferred", "We'd rather have the late flight", "late flight"),
    ("preferred", "My favorite colour is the brick red", "brick red"),
    ("preferred", "I love my jazz records", "jazz records"),
    ("preferred", "我喜欢的是古典音乐。", "古典音乐"),
]

# Rule, text in which it finds nothing.
TRAPS = [
    ("declined_zh", "要不要发票？需不需要安装"),
    ("declined_zh", "不用谢，不要紧，不用担心"),
    ("declined_zh", "不需要发票吗？"),
    ("declined_zh", "特别推荐这家，分别发货"),
    ("declined_zh", "如果不想要了，取消要扣钱吗"),
    ("declined_en", "I don't want to pay that much"),
    ("declined_en", "I don't need anything else, no problem, please"),
    ("declined_en", "I don't want it, don't send me"),
    ("declined_en", "Cellular connection: no service"),
    ("not_eaten", "能不吃肉。不吃了，不吃饭。"),
    ("not_eaten", "I can't eat now"),
    ("allergy", "对羊毛过敏吗"),
    ("allergy", "我对羊毛不过敏"),
    ("allergy", "Do you have an allergy? the allergy"),
    ("diet_or_access", "vegetables"),
    ("link", "http is a protocol"),
    ("email", "@lin or a@b or y****7301@example.com"),
    ("iso_date", "2024-13-45, 12024-05-17, 2024-05-171, 2024-05-17-3"),
    ("phone", "2024-05-17 and 3799046073"),
    ("phone", "1380013800012345"),
    ("phone", "x+44 20 7946 0958"),
    ("membership_number", "Are you a member? 会员日"),
    ("membership_level", "a gold ring and a silver spoon"),
    ("membership_level", "我是老会员"),
    ("order_number", "in order to get 12, order 3 of them, abc#12345"),
    ("booking_number", "my booking today, the reference 8c8k4e8c8k4e, reference RMIBUHDERMIBUHDE"),
    ("account_number", "user name please, account settings"),
    ("account_number", f"user id {'a1' * 20}，账号：{'b2' * 20}"),
    ("code", "128GB, IPHONE, 2024, mp3a4, A1"),
    ("address_en", "6 people by the way, 20 minutes by the road"),
    ("postcode", "12345 items"),
    ("address_zh", "第3号，他住在那条路上"),
    ("date_zh", "3个月，80年代，1990年代"),
    ("date_zh", "周一至周日，下周三到周五"),
    ("date_zh", "昨后天"),
    ("date_en", "you may 5 times, today, mon ami"),
    ("date_en", "from june 5:30, on May 5:30"),
    ("date_en", "on the 12th floor"),
    ("time", "便宜一点，评分是3:1，有两点心得，型号A3点亮"),
    ("money", "$5% 500人 12 pounding"),
    ("money_named", "total 12:30, amount 50%"),
    ("duration", "3天前, 4小时内，1.25小时"),
    ("duration", "5 days ago"),
    ("quantity", "5分钟，2个月，第两张，两张面，1.25斤，10分之1"),
    ("quantity", "the people, 3 peoples-republic"),
    ("name_zh", "我叫了外卖，姓名未填"),
    ("name_en", "this is great, I am Very happy, my name is not"),
    ("quoted_title", "他说“阿飞正传”"),
    ("must", "必须的，一定要吗"),
    ("must", "It must be joking"),
    ("preferred", "你喜欢旅游。不喜欢古典音乐。"),
    ("preferred", "我喜欢这个。我喜欢上班。"),
    ("preferred", "I prefer to wait"),
]


@pytest.mark.parametrize(("rule", "text", "value"), FOUND)
def test_a_rule_finds_its_value(rule: str, text: str, value: str) -> None:
    """The value, whole and without its surroundings, by the rule that is meant for it."""
    assert (rule, value) in [(found.rule, found.value) for found in extract(text)]


@pytest.mark.parametrize(("rule", "text", "value"), FOUND)
def test_no_value_is_a_part_of_a_longer_word(rule: str, text: str, value: str) -> None:
    """Letters and digits glued to those of a value belong to it."""
    glued = [value + "x7", value + "7"] if value[-1].isascii() and value[-1].isalnum() else []
    glued += ["x" + value, "7" + value] if value[0].isascii() and value[0].isalnum() else []
    for longer in glued:
        assert (rule, value) not in [(one.rule, one.value) for one in extract(text.replace(value, longer))]


@pytest.mark.parametrize(("rule", "text"), TRAPS)
def test_a_rule_leaves_what_only_looks_like_it(rule: str, text: str) -> None:
    """Each rule has texts that nearly fit and do not."""
    assert [found for found in extract(text) if found.rule == rule] == []


def test_every_rule_has_both() -> None:
    """No rule stands in the file without a value that it finds and a trap that it avoids."""
    names = [rule["name"] for rule in RULES]
    assert len(set(names)) == len(names)
    assert {rule for rule, *_ in FOUND} == {rule for rule, _ in TRAPS} == set(names)


def test_what_is_denied_is_negative_and_nothing_else() -> None:
    """The value of a denial is the thing denied."""
    [denied, wanted] = extract("我不需要宠物推荐，请发到lin.a@example.com")
    assert (denied.kind, denied.value, denied.negative) == ("preference", "宠物推荐", True)
    assert (wanted.kind, wanted.negative) == ("email", False)


def test_a_denied_date_is_not_a_date_that_was_asked_for() -> None:
    """A denial claims its words before any other rule reads them."""
    assert [(found.kind, found.negative) for found in extract("不要3月5日送")] == [("preference", True)]


def test_a_rule_with_digits_reads_digits_of_any_width() -> None:
    """A phone number in full-width digits is one."""
    assert [found.value for found in extract("手机号１３８００１３８０００")] == ["１３８００１３８０００"]


@pytest.mark.parametrize(
    ("text", "value", "changes"),
    [
        ("改成3月6日吧", "3月6日", True),
        ("应该是38个。", "38个", True),
        ("我想3月6日去", "3月6日", False),
        ("已经改成了。3月6日送到", "3月6日", False),
        ("Change it to Friday", "Friday", True),
        ("Please change the date from Monday to Friday", "Friday", True),
        ("Please change the date from Monday to Friday", "Monday", False),
        ("Actually, Friday is better", "Friday", True),
        ("Actually, I like it. See you Friday", "Friday", False),
        ("Make it 6 people", "6 people", True),
        ("Let us take Friday instead", "Friday", True),
        ("Instead of Friday, Monday", "Friday", False),
        ("Switch to Friday instead of Monday", "Monday", False),
        ("应该是3月5日，不是3月6日", "3月6日", False),
        ("Can I come on Friday?", "Friday", False),
    ],
)
def test_words_of_change(text: str, value: str, changes: bool) -> None:
    """A word of change holds for the value that it brings, within its own sentence."""
    start = text.index(value)
    assert states_change(text, start, start + len(value)) is changes


def test_kinds_of_which_there_are_several_or_that_the_user_alone_states() -> None:
    """A second wish replaces none, a second address does; only the user has wishes."""
    assert [holds_several(kind) for kind in ("preference", "order_number", "address")] == [True, True, False]
    assert [only_user_states(kind) for kind in ("constraint", "date")] == [True, False]


PIECES = st.sampled_from([text for _, text, *_ in (*FOUND, *TRAPS)])


@given(st.lists(PIECES | st.text(max_size=8), max_size=6).map("".join))
def test_spans_lie_in_the_text_and_apart(text: str) -> None:
    """Each value is what stands in its span, not blank, and no two spans overlap."""
    found = extract(text)
    assert all(text[one.start : one.end] == one.value and one.value.strip() for one in found)
    assert all(first.end <= second.start for first, second in itertools.pairwise(found))


@pytest.mark.parametrize("unit", ["a", "1", "A1", "路", "北京市", "a_", "1-", '{"', "no ", "1 Ab Road ", "member is "])
def test_no_text_takes_long(unit: str) -> None:
    """Time grows with the length, whatever the text: 20,000 characters of the worst stay under three seconds."""
    text = unit * (20_000 // len(unit))
    started = time.process_time()
    extract(text)
    assert time.process_time() - started < 3


def test_every_repetition_is_bounded() -> None:
    """No pattern has a repetition without an end, since texts come from anyone."""
    data = data_file("language/extraction.toml").read_text(encoding="utf-8")
    patterns = re.sub(r"^#.*$|\[(?:\\.|[^\]\\])*\]|\\.", "", data, flags=re.MULTILINE)
    assert re.findall(r"\{\d*,\}|[)\w}][*+]", patterns) == []
