//! What serde's derive makes of the change set: the way most clients read it today.

#![allow(dead_code, unreachable_pub, reason = "read, never looked at: reading is what is measured")]

use serde::Deserialize;

/// With a tagged enum, as it is written down most naturally. Serde buffers each op for it.
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

/// For one kind of op alone, the tag a string like others: nothing is buffered.
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
