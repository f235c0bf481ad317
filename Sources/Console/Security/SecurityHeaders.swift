import NIOHTTP1

/// The header fields of every answer.
enum SecurityHeaders {
    /// Nothing inline is permitted: not even text that got into a page as markup could run or style anything.
    static let policy =
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        + "frame-ancestors 'none'"

    /// - Parameter isSecure: whether browsers reach the console by https.
    static func fields(isSecure: Bool) -> HTTPHeaders {
        var fields: HTTPHeaders = [
            "content-security-policy": policy,
            "cache-control": "no-store",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "x-robots-tag": "noindex",
        ]
        if isSecure { fields.add(name: "strict-transport-security", value: "max-age=31536000") }
        return fields
    }
}
