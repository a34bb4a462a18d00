//! Types with serde's derive for a change set, as most clients define them.

#![allow(dead_code, unreachable_pub, reason = "the fields are never read: only parsing is measured")]

use serde::Deserialize;

/// A change set whose ops are a tagged enum, the obvious definition. Serde buffers each op to find the tag.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeSet {
    pub ops: Vec<Op>,
    pub dry_run: Option<bool>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Op {
    SetQuantity(SetQuantity),
}

/// A change set with only one kind of op, whose tag is an ordinary string. Serde buffers nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlainChangeSet {
    pub ops: Vec<PlainOp>,
    pub dry_run: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlainOp {
    pub op: String,
    pub op_id: Option<String>,
    pub material: ItemRef,
    pub location: LocationRef,
    pub quality: u16,
    pub stolen: bool,
    pub quantity: Quantity,
    pub expected_quantity: Quantity,
    pub r#override: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetQuantity {
    pub op_id: Option<String>,
    pub material: ItemRef,
    pub location: LocationRef,
    pub quality: u16,
    pub stolen: bool,
    pub quantity: Quantity,
    pub expected_quantity: Quantity,
    pub r#override: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemRef {
    pub bt: Option<String>,
    pub sc_record: Option<String>,
    pub sc_guid: Option<String>,
    pub uex_id: Option<i64>,
    pub loc_key: Option<String>,
    pub name: Option<String>,
    pub name_locale: Option<String>,
}

#[derive(Deserialize)]
pub struct LocationRef {
    pub uex: Option<Link>,
    pub name: Option<String>,
}

#[derive(Deserialize)]
pub struct Link {
    pub kind: String,
    pub id: i64,
}

#[derive(Deserialize)]
pub struct Quantity {
    pub amount: f64,
    pub unit: String,
}
