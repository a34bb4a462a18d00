//! The reason phrases of HTTP statuses, from which names of enum variants are derived.

/// Returns the reason phrase of a status in camel case (RFC 9110, 15).
pub(crate) fn reason_phrase(status: u16) -> String {
    let phrase = match status {
        101 => "SwitchingProtocols",
        200 => "Ok",
        201 => "Created",
        202 => "Accepted",
        203 => "NonAuthoritative",
        204 => "NoContent",
        205 => "ResetContent",
        206 => "PartialContent",
        207 => "MultiStatus",
        300 => "MultipleChoices",
        301 => "MovedPermanently",
        302 => "Found",
        303 => "SeeOther",
        304 => "NotModified",
        307 => "TemporaryRedirect",
        308 => "PermanentRedirect",
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Gone",
        412 => "PreconditionFailed",
        413 => "ContentTooLarge",
        415 => "UnsupportedMediaType",
        422 => "UnprocessableContent",
        429 => "TooManyRequests",
        500 => "InternalServerError",
        501 => "NotImplemented",
        502 => "BadGateway",
        503 => "ServiceUnavailable",
        other => return format!("Status{other}"),
    };
    phrase.to_owned()
}
