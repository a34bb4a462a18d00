//! What `client.rs` generates, for `client_runs.rs` to call.

use ::contract_runtime::operation::{Body, Content, Format, Operation, Operations};
use ::contract_runtime::parameters::{Parameter, Scalar, Shape};
/// Every operation, in the order of the contract.
pub static OPERATIONS: &[Operation] = &[
    Operation {
        id: "ships_read",
        method: "GET",
        path: "/ships/{shipId}/parts",
        tags: &[],
        summary: "Ships of a member",
        anonymous: false,
        scopes: &[&["hangar.read"], &["hangar.write"]],
        idempotent: false,
        deprecated: false,
        parameters: &[
            Parameter {
                name: "shipId",
                ..Parameter::PATH
            },
            Parameter {
                name: "cursor",
                ..Parameter::QUERY
            },
            Parameter {
                name: "limit",
                shape: Shape::Scalar(Scalar::Number),
                ..Parameter::QUERY
            },
            Parameter {
                name: "tag",
                shape: Shape::Array(Scalar::Text),
                ..Parameter::QUERY
            },
            Parameter {
                name: "type",
                required: true,
                ..Parameter::QUERY
            },
        ],
        body: None,
        success: &[200],
        servers: &[],
    },
    Operation {
        id: "ships_write",
        method: "POST",
        path: "/ships/changes",
        tags: &[],
        summary: "Change ships",
        anonymous: false,
        scopes: &[&["hangar.write"]],
        idempotent: true,
        deprecated: false,
        parameters: &[
            Parameter {
                name: "Idempotency-Key",
                required: true,
                validator: Some(|| {
                    <super::types::IdempotencyKey as ::contract_runtime::Contract>::VALIDATOR
                }),
                ..Parameter::HEADER
            },
            Parameter {
                name: "X-Note",
                ..Parameter::HEADER
            },
        ],
        body: Some(Body {
            required: true,
            content: &[
                Content {
                    media_type: "application/merge-patch+json",
                    format: Format::Json,
                    schema: "https://exchange.example/test#/changes",
                    validator: Some(|| {
                        <super::types::ShipChangeSet as ::contract_runtime::Contract>::VALIDATOR
                    }),
                },
            ],
        }),
        success: &[200, 202],
        servers: &[],
    },
    Operation {
        id: "shipRemove",
        method: "DELETE",
        path: "/ships/{body}",
        tags: &[],
        summary: "",
        anonymous: true,
        scopes: &[],
        idempotent: false,
        deprecated: true,
        parameters: &[
            Parameter {
                name: "body",
                ..Parameter::PATH
            },
        ],
        body: None,
        success: &[204],
        servers: &[],
    },
    Operation {
        id: "picture",
        method: "PUT",
        path: "/ships/picture",
        tags: &[],
        summary: "",
        anonymous: true,
        scopes: &[],
        idempotent: false,
        deprecated: false,
        parameters: &[],
        body: Some(Body {
            required: false,
            content: &[
                Content {
                    media_type: "application/json",
                    format: Format::Json,
                    schema: "https://exchange.example/test#/ships",
                    validator: None,
                },
            ],
        }),
        success: &[200],
        servers: &[],
    },
    Operation {
        id: "import",
        method: "POST",
        path: "/ships/import",
        tags: &[],
        summary: "",
        anonymous: true,
        scopes: &[],
        idempotent: false,
        deprecated: false,
        parameters: &[],
        body: Some(Body {
            required: true,
            content: &[
                Content {
                    media_type: "text/csv",
                    format: Format::Text,
                    schema: "https://exchange.example/test#/text",
                    validator: None,
                },
            ],
        }),
        success: &[],
        servers: &[],
    },
];
/// Every operation, to search by id or by method and path.
pub const TABLE: Operations = Operations::new(OPERATIONS, &[1, 4, 3, 2, 0]);
::contract_runtime::closed_enum! {
    #[doc = " The operations, by `operationId`."] pub enum OperationId { #[doc =
    " Ships of a member."] #[doc = ""] #[doc = " `GET /ships/{shipId}/parts`"] ShipsRead
    = "ships_read", #[doc = " Change ships."] #[doc = ""] #[doc =
    " `POST /ships/changes`"] ShipsWrite = "ships_write", #[doc =
    " `DELETE /ships/{body}`"] ShipRemove = "shipRemove", #[doc =
    " `PUT /ships/picture`"] Picture = "picture", #[doc = " `POST /ships/import`"] Import
    = "import", }
}
impl OperationId {
    /// What the contract says of it.
    #[must_use]
    pub const fn operation(self) -> &'static Operation {
        &OPERATIONS[self as usize]
    }
}
::contract_runtime::closed_enum! {
    #[doc = " The scopes that operations ask for."] pub enum Scope { HangarRead =
    "hangar.read", HangarWrite = "hangar.write", }
}
