//! Tests of the decoder. Each input is decoded as one chunk, split at every byte, split at every two bytes,
//! and byte by byte.

use super::*;

/// Formats the decoded items: for an event `event|data|id|retry`, for another item the data, and for a fault
/// its message. The last event id follows after `>`, if there is one.
fn shown(decoder: &mut ItemDecoder) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(item) = decoder.next_item() {
        out.push(match item {
            Err(fault) => format!("! {fault}"),
            Ok(RawItem { position: place, data, event, id, retry }) => {
                let mut text = format!("{}+{} {}", place.index, place.offset, String::from_utf8_lossy(&data));
                text.extend(event.map(|event| format!("|event {event}")));
                text.extend(id.map(|id| format!("|id {id}")));
                text.extend(retry.map(|retry| format!("|retry {retry}")));
                text
            }
        });
    }
    out
}

fn decode(framing: ItemFraming, limit: usize, pieces: &[&[u8]]) -> (Vec<String>, String, Option<Duration>) {
    let mut decoder = ItemDecoder::new(framing, limit);
    pieces.iter().for_each(|piece| decoder.push(piece));
    decoder.finish();
    (shown(&mut decoder), decoder.last_event_id().to_owned(), decoder.reconnection_delay())
}

#[track_caller]
fn check_within_limit(framing: ItemFraming, limit: usize, input: &[u8], expect: &[&str]) {
    let whole = decode(framing, limit, &[input]);
    assert_eq!(whole.0, expect, "{}", String::from_utf8_lossy(input));
    for one in 0..=input.len() {
        for two in one..=input.len() {
            let pieces = [&input[..one], &input[one..two], &input[two..]];
            assert_eq!(decode(framing, limit, &pieces), whole, "cut at {one} and {two}");
        }
    }
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(decode(framing, limit, &bytes), whole, "byte by byte");
}

#[track_caller]
fn events(input: impl AsRef<[u8]>, expect: &[&str]) {
    check_within_limit(ItemFraming::Events, 1000, input.as_ref(), expect);
}

/// The examples of WHATWG HTML, 9.2.6 are decoded as described there.
#[test]
fn examples_of_the_standard() {
    events("data: YHOO\ndata: +2\ndata: 10\n\n", &["0+0 YHOO\n+2\n10"]);
    events(
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        &["0+15 first event|id 1", "1+40 second event|id ", "2+62  third event"],
    );
    // The first event has empty data, the second one a line feed. The last block has no terminating blank
    // line.
    events("data\n\ndata\ndata\n\ndata:", &["0+0 ", "1+6 \n"]);
    events("data:test\n\ndata: test\n\n", &["0+0 test", "1+11 test"]);
}

#[test]
fn all_three_line_endings_are_accepted() {
    events("data: a\r\n\r\ndata: b\n\ndata: c\r\rdata: d\r\n\n", &["0+0 a", "1+11 b", "2+20 c", "3+29 d"]);
    events("data: a\r\ndata: b\rdata: c\n\r\n", &["0+0 a\nb\nc"]);
    // An LF after a CR does not end another line, so this event is not complete.
    events("data: a\r\n", &[]);
    events("data: a\n\r", &["0+0 a"]);
}

#[test]
fn fields_are_parsed_as_in_the_standard() {
    events("event: delta\ndata: {}\n\nevent:\ndata: 1\n\n", &["0+0 {}|event delta", "1+23 1"]);
    // A name without data is dropped together with its event.
    events("event: lost\n\ndata: a\n\n", &["0+13 a"]);
    events("event: a\nevent: b\ndata: x\n\n", &["0+0 x|event b"]);
    events("DATA: a\nfoo: b\n data: c\ndata : d\n\n", &[]);
    events("data: a: b\n\n", &["0+0 a: b"]);
    events(":\n: data: no\ndata: a\n:data: no\ndata: b\n\n", &["0+13 a\nb"]);
    events(
        "retry: 1500\ndata: a\n\nretry: 1.5\nretry: -1\nretry:\ndata: b\n\n",
        &["0+0 a|retry 1500", "1+21 b"],
    );
    events("\n\n\n", &[]);
    events("", &[]);
}

#[test]
fn id_persists_until_another_is_dispatched() {
    let last = |input: &str| decode(ItemFraming::Events, 100, &[input.as_bytes()]).1;
    assert_eq!(last("id: 7\ndata: a\n\n"), "7");
    assert_eq!(last("id: 7\ndata: a\n\ndata: b\n\n"), "7");
    // Without data, no event is dispatched, but the id applies.
    assert_eq!(last("id: 8\n\n"), "8");
    // A truncated event has no effect.
    assert_eq!(last("id: 7\ndata: a\n\nid: 9\ndata: b\n"), "7");
    assert_eq!(last("id: 7\ndata: a\n\nid\ndata: b\n\n"), "");
    // The id of an oversized event applies, regardless of its position in the event.
    let large = "1".repeat(101);
    assert_eq!(last(&format!("id: 7\ndata: {large}\n\n")), "7");
    assert_eq!(last(&format!("data: {large}\nid: 7\ndata: a\n\n")), "7");
    // An id with NUL is ignored.
    assert_eq!(last("id: 7\ndata: a\n\nid: 1\0\ndata: b\n\n"), "7");
    events("id: a\0b\ndata: x\n\n", &["0+0 x"]);
}

#[test]
fn byte_order_mark_is_skipped_once_at_the_start() {
    events("\u{feff}data: a\n\n", &["0+3 a"]);
    events("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["0+15 b"]);
    events(b"\xef\xbbdata: a\n\ndata: b\n\n", &["0+11 b"]);
    events("data: a\n\n\u{feff}data: b\n\n", &["0+0 a"]);
}

/// Invalid UTF-8 is replaced by U+FFFD, one for each maximal subpart (WHATWG Encoding, 4.1).
#[test]
fn invalid_bytes_are_replaced() {
    events(b"data: \xff\xe2\x82\n\n", &["0+0 \u{fffd}\u{fffd}"]);
    events("data: \u{20ac}\u{1f680}\n\n", &["0+0 \u{20ac}\u{1f680}"]);
    events(b"data: \xe2\x82\ndata: \xac\n\n", &["0+0 \u{fffd}\n\u{fffd}"]);
}

#[test]
fn oversized_item_is_skipped_to_its_end() {
    let check =
        |input: &str, expect: &[&str]| check_within_limit(ItemFraming::Events, 10, input.as_bytes(), expect);
    check("data: 12345678901\ndata: b\n\ndata: c\n\n", &["! item 0 at byte 0 is too large", "1+27 c"]);
    check(
        "data: 1234\n\ndata: 12345\ndata: 67\n\ndata: c\n\n",
        &["0+0 1234", "! item 1 at byte 12 is too large", "2+34 c"],
    );
    // Comments are not stored, regardless of their length.
    check(": a comment that is long\ndata: c\n\n", &["0+25 c"]);
    let check =
        |framing, input: &str, expect: &[&str]| check_within_limit(framing, 5, input.as_bytes(), expect);
    check(
        ItemFraming::Lines,
        "12345\n123456\n1234567890\n7\n",
        &["0+0 12345", "! item 1 at byte 6 is too large", "! item 2 at byte 13 is too large", "3+24 7"],
    );
    check(
        ItemFraming::Sequence,
        "\x1e[1,2]\n\x1e[1,2,3]\n\x1e[]\n",
        &["0+1 [1,2]", "! item 1 at byte 8 is too large", "2+17 []"],
    );
}

#[test]
fn a_line_is_a_document() {
    let check = |input: &[u8], expect: &[&str]| check_within_limit(ItemFraming::Lines, 100, input, expect);
    check(b"{\"a\":1}\n[2]\r\n\n  \r\n 3 \n\"4\"", &["0+0 {\"a\":1}", "1+8 [2]", "2+18  3", "3+22 \"4\""]);
    check(b"\xef\xbb\xbf1\n2\n", &["0+0 1", "1+5 2"]);
    check(b"\xff\n1\n", &["0+0 \u{fffd}", "1+2 1"]);
    check(b"", &[]);
}

/// Record separators delimit the items of a JSON text sequence (RFC 7464, 2).
#[test]
fn a_sequence_separates_records() {
    let check = |input: &str, expect: &[&str]| {
        check_within_limit(ItemFraming::Sequence, 100, input.as_bytes(), expect)
    };
    check("\x1e{\"a\":1}\n\x1e[2]\n", &["0+1 {\"a\":1}", "1+10 [2]"]);
    check("\x1e{\n}\n\x1e\x1e\n\x1e\"a\"", &["0+1 {\n}", "1+9 \"a\""]);
    // A value that could be the start of a longer one is reported as truncated (RFC 7464, 2.4).
    check(
        "\x1e12\x1e12\n\x1etrue\x1enull\n",
        &["! item 0 at byte 1 is truncated", "1+4 12", "! item 2 at byte 8 is truncated", "3+13 null"],
    );
    // A truncated item is unreadable, but the next one is complete.
    check("\x1e{\"a\":\x1e{}\n", &["0+1 {\"a\":", "1+7 {}"]);
    check("garbage\x1e{}\n", &["! item 0 at byte 0 is truncated", "1+8 {}"]);
}

/// The line feed after a document makes the item available before the next one begins (RFC 7464, 2.2).
#[test]
fn record_is_available_once_complete() {
    let mut decoder = ItemDecoder::new(ItemFraming::Sequence, 100);
    let mut then = |bytes: &[u8]| {
        decoder.push(bytes);
        shown(&mut decoder)
    };
    assert!(then(b"\x1e{\"a\":\"]}\\\\\\\"\",\n\"b\":[1\n]").is_empty());
    assert!(then(b"}").is_empty());
    assert_eq!(then(b"\n"), ["0+1 {\"a\":\"]}\\\\\\\"\",\n\"b\":[1\n]}"]);
    assert!(then(b"\n\x1e12").is_empty());
    assert_eq!(then(b"3 \n\x1e\"x\""), ["1+28 123"]);
    assert_eq!(then(b"\r\n"), ["2+34 \"x\""]);
}

/// `Debug` output does not show the content of a stream.
#[test]
fn debug_output_hides_content() {
    for (framing, bytes) in [
        (ItemFraming::Events, "id: hush\ndata: hush\n\ndata: hush"),
        (ItemFraming::Lines, "\"hush\"\n\"hush"),
    ] {
        let mut decoder = ItemDecoder::new(framing, 100);
        decoder.push(bytes.as_bytes());
        let mut text = format!("{decoder:?}");
        text += &format!("{:?}", decoder.next_item().unwrap().unwrap());
        text += &format!("{:?}", OutgoingItem { data: "hush", id: Some("hush"), ..OutgoingItem::default() });
        assert!(!text.contains("hush") && !text.contains("104"), "{text}");
    }
}

#[test]
fn another_connection_continues_the_count() {
    let mut decoder = ItemDecoder::new(ItemFraming::Events, 100);
    decoder.push(b"retry: 20\nid: 4\ndata: a\n\nid: 5\ndata: lost");
    decoder.restart();
    decoder.push("\u{feff}data: b\n\n".as_bytes());
    assert_eq!(shown(&mut decoder), ["0+0 a|id 4|retry 20", "1+44 b"]);
    assert_eq!(
        (decoder.last_event_id(), decoder.reconnection_delay()),
        ("4", Some(Duration::from_millis(20)))
    );
}

#[test]
fn items_round_trip() {
    let check = |framing, item: OutgoingItem<'_>, bytes: &str, expect: &str| {
        let mut out = Vec::new();
        write_item(framing, &item, &mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), bytes);
        check_within_limit(framing, 1000, &out, &[expect]);
    };
    let item = OutgoingItem { data: "{}", event: "delta", id: Some("7"), retry: Some(3) };
    check(
        ItemFraming::Events,
        item,
        "event: delta\nid: 7\nretry: 3\ndata: {}\n\n",
        "0+0 {}|event delta|id 7|retry 3",
    );
    check(
        ItemFraming::Events,
        OutgoingItem { data: "a\r\nb\rc\n", ..OutgoingItem::default() },
        "data: a\ndata: b\ndata: c\ndata: \n\n",
        "0+0 a\nb\nc\n",
    );
    check(ItemFraming::Events, OutgoingItem::default(), "data: \n\n", "0+0 ");
    check(ItemFraming::Lines, item, "{}\n", "0+0 {}");
    check(ItemFraming::Sequence, OutgoingItem { data: "12", ..item }, "\x1e12\n", "0+1 12");
}

/// An event without `data` is not dispatched, but its id applies (WHATWG HTML, 9.2.6).
#[test]
fn event_without_data_is_not_dispatched() {
    let mut out = Vec::new();
    let item = OutgoingItem { event: "delta", id: Some("7"), retry: Some(3), ..OutgoingItem::default() };
    write_event_fields(&item, &mut out).unwrap();
    assert_eq!(String::from_utf8_lossy(&out), "event: delta\nid: 7\nretry: 3\n\n");
    let mut decoder = ItemDecoder::new(ItemFraming::Events, 1000);
    decoder.push(&out);
    assert!(decoder.next_item().is_none());
    assert_eq!(
        (decoder.last_event_id(), decoder.reconnection_delay()),
        ("7", Some(Duration::from_millis(3)))
    );
}

/// A name or an id with a line break, which could inject a field into an event, is rejected.
#[test]
fn field_with_a_line_break_is_rejected() {
    for text in ["a\ndata: x", "a\r", "\0"] {
        for item in [
            OutgoingItem { event: text, ..OutgoingItem::default() },
            OutgoingItem { id: Some(text), ..OutgoingItem::default() },
        ] {
            let mut out = Vec::new();
            assert_eq!(write_item(ItemFraming::Events, &item, &mut out), Err(ItemEncodingError));
            assert!(out.is_empty());
        }
    }
}

#[test]
fn media_type_determines_the_framing() {
    let check = |media_type: &str, expect| {
        assert_eq!(ItemFraming::from_media_type(&MediaType::parse(media_type)), expect)
    };
    check("text/event-stream; charset=utf-8", Some(ItemFraming::Events));
    check("Application/X-NDJSON", Some(ItemFraming::Lines));
    check("application/jsonl", Some(ItemFraming::Lines));
    check("application/json-seq", Some(ItemFraming::Sequence));
    check("application/geo+json-seq", Some(ItemFraming::Sequence));
    check("application/json", None);
    check("text/*", None);
}
