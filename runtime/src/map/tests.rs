//! Tests of maps below and above the size at which a hash index is used.

use std::collections::hash_map::DefaultHasher;

use super::*;

fn numbers(count: usize) -> Map<usize> {
    (0..count).map(|n| (format!("key {n}"), n)).collect()
}

#[test]
fn is_small_and_empty_without_allocating() {
    const EMPTY: Map<String> = Map::new();
    assert_eq!(size_of::<Map<String>>(), 32);
    assert_eq!((EMPTY.len(), EMPTY.entries.capacity()), (0, 0));
    assert!(EMPTY.is_empty() && EMPTY == Map::default());
}

#[test]
fn finds_replaces_and_removes_at_every_size() {
    for count in [
        0,
        1,
        2,
        MAX_LINEAR_SEARCH - 1,
        MAX_LINEAR_SEARCH,
        MAX_LINEAR_SEARCH + 1,
        MAX_LINEAR_SEARCH + 2,
        40,
        1000,
    ] {
        let mut map = numbers(count);
        assert_eq!(map.index.is_some(), count > MAX_LINEAR_SEARCH);
        assert_eq!(map.len(), count);
        for n in 0..count {
            let key = format!("key {n}");
            assert_eq!(map.get(&key), Some(&n));
            assert!(map.contains_key(&key));
            assert_eq!(map.insert(key.clone(), n + 1), Some(n));
            *map.get_mut(&key).unwrap() -= 1;
            assert_eq!(map.try_insert(key, 0), Err(0));
        }
        assert_eq!(map.get("key"), None);
        assert_eq!(map.get_mut("key"), None);
        assert_eq!(map.remove("key"), None);
        assert!(map.values().copied().eq(0..count));
        for n in (0..count).step_by(2) {
            assert_eq!(map.remove(&format!("key {n}")), Some(n));
        }
        assert!(map.values().copied().eq((0..count).skip(1).step_by(2)), "order is kept");
        for (key, value) in &map {
            assert_eq!(map.get(key), Some(value));
        }
        assert_eq!(map.index.is_some(), map.len() > MAX_LINEAR_SEARCH);
    }
}

#[test]
fn iterates_in_order() {
    let mut map = Map::new();
    for key in ["b", "a", "c"] {
        map.insert(key.to_owned(), key.len());
    }
    map.insert("a".to_owned(), 5);
    assert!(map.keys().eq(["b", "a", "c"]));
    assert!(map.iter().rev().map(|(_, value)| *value).eq([1, 5, 1]));
    assert_eq!(map.iter().len(), 3);
    for (_, value) in map.iter_mut() {
        *value += 1;
    }
    assert_eq!(format!("{map:?}"), r#"{"b": 2, "a": 6, "c": 2}"#);
    assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"b":2,"a":6,"c":2}"#);
    assert!(map.into_iter().map(|(key, _)| key).eq(["b", "a", "c"]));
}

#[test]
fn equality_and_hash_ignore_order() {
    let hash = |map: &Map<usize>| {
        let mut hasher = DefaultHasher::new();
        map.hash(&mut hasher);
        hasher.finish()
    };
    for count in [0, 3, 50] {
        let map = numbers(count);
        let mut reversed: Map<usize> = Map::new();
        reversed.extend(map.iter().rev().map(|(key, value)| (key.to_owned(), *value)));
        assert_eq!(map, reversed);
        assert_eq!(hash(&map), hash(&reversed));
        assert_eq!(map, map.clone());
        let mut other = map.clone();
        other.insert("more".to_owned(), 0);
        assert_ne!(map, other);
    }
}

#[test]
fn rejects_duplicate_keys_when_parsed() {
    let map: Map<bool> = serde_json::from_str(r#"{"b": true, "a": false}"#).unwrap();
    assert!(map.keys().eq(["b", "a"]));
    let error =
        serde_json::from_str::<Map<bool>>(r#"{"confidential": true, "confidential": true}"#).unwrap_err();
    assert!(error.to_string().contains("duplicate member"));
    assert!(!error.to_string().contains("confidential"));
    assert!(serde_json::from_str::<Map<bool>>("[]").is_err());
}

#[test]
fn many_keys_are_not_quadratic() {
    // With quadratic behavior, this test would take minutes.
    let map = numbers(200_000);
    assert_eq!(map.get("key 199999"), Some(&199_999));
    assert_eq!(map.clone(), map);
}
