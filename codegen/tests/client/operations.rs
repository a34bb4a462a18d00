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
/// The operations, by `operationId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationId {
    /// Ships of a member.
    ///
    /// `GET /ships/{shipId}/parts`
    ShipsRead,
    /// Change ships.
    ///
    /// `POST /ships/changes`
    ShipsWrite,
    /// `DELETE /ships/{body}`
    ShipRemove,
    /// `PUT /ships/picture`
    Picture,
    /// `POST /ships/import`
    Import,
}
impl OperationId {
    /// Every value, in the order of the contract.
    pub const ALL: &'static [Self] = &[
        Self::ShipsRead,
        Self::ShipsWrite,
        Self::ShipRemove,
        Self::Picture,
        Self::Import,
    ];
    /// As the contract writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ShipsRead => "ships_read",
            Self::ShipsWrite => "ships_write",
            Self::ShipRemove => "shipRemove",
            Self::Picture => "picture",
            Self::Import => "import",
        }
    }
}
impl ::std::str::FromStr for OperationId {
    type Err = ::contract_runtime::contract::UnknownValue;
    fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
        match text {
            "ships_read" => Ok(Self::ShipsRead),
            "ships_write" => Ok(Self::ShipsWrite),
            "shipRemove" => Ok(Self::ShipRemove),
            "picture" => Ok(Self::Picture),
            "import" => Ok(Self::Import),
            _ => Err(::contract_runtime::contract::UnknownValue("OperationId")),
        }
    }
}
impl ::std::fmt::Display for OperationId {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.write_str(self.as_str())
    }
}
impl ::serde::Serialize for OperationId {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> ::std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
impl<'de> ::serde::Deserialize<'de> for OperationId {
    fn deserialize<D: ::serde::Deserializer<'de>>(
        deserializer: D,
    ) -> ::std::result::Result<Self, D::Error> {
        ::contract_runtime::contract::read_text(
            deserializer,
            <Self as ::std::str::FromStr>::from_str,
        )
    }
}
impl<'de> ::contract_runtime::read::Read<'de> for OperationId {
    fn read<D: ::serde::Deserializer<'de>>(
        deserializer: D,
    ) -> ::std::result::Result<Self, D::Error> {
        ::serde::Deserialize::deserialize(deserializer)
    }
}
impl OperationId {
    /// What the contract says of it.
    #[must_use]
    pub const fn operation(self) -> &'static Operation {
        &OPERATIONS[self as usize]
    }
}
/// The scopes that operations ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// `hangar.read`
    HangarRead,
    /// `hangar.write`
    HangarWrite,
}
impl Scope {
    /// Every value, in the order of the contract.
    pub const ALL: &'static [Self] = &[Self::HangarRead, Self::HangarWrite];
    /// As the contract writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HangarRead => "hangar.read",
            Self::HangarWrite => "hangar.write",
        }
    }
}
impl ::std::str::FromStr for Scope {
    type Err = ::contract_runtime::contract::UnknownValue;
    fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
        match text {
            "hangar.read" => Ok(Self::HangarRead),
            "hangar.write" => Ok(Self::HangarWrite),
            _ => Err(::contract_runtime::contract::UnknownValue("Scope")),
        }
    }
}
impl ::std::fmt::Display for Scope {
    fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
        f.write_str(self.as_str())
    }
}
impl ::serde::Serialize for Scope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> ::std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
impl<'de> ::serde::Deserialize<'de> for Scope {
    fn deserialize<D: ::serde::Deserializer<'de>>(
        deserializer: D,
    ) -> ::std::result::Result<Self, D::Error> {
        ::contract_runtime::contract::read_text(
            deserializer,
            <Self as ::std::str::FromStr>::from_str,
        )
    }
}
impl<'de> ::contract_runtime::read::Read<'de> for Scope {
    fn read<D: ::serde::Deserializer<'de>>(
        deserializer: D,
    ) -> ::std::result::Result<Self, D::Error> {
        ::serde::Deserialize::deserialize(deserializer)
    }
}
