/// What a server has answered to one request.
struct HTTPAnswer: Hashable, Sendable {
    let status: Int
    /// By lower-case name.
    let fields: [String: String]
    let body: [UInt8]

    /// The last word of a problem document's type (RFC 9457), such as `not-json`.
    var problem: String? {
        guard fields["content-type"] == "application/problem+json", let document = try? JSONDocument(String(decoding: body, as: UTF8.self)),
            let type = document.text("type")
        else { return nil }
        return type.split(separator: ":").last.map(String.init)
    }
}

/// The connection broke before the answer was complete: nobody knows what the server did.
struct NoAnswer: Error, CustomStringConvertible {
    let description: String
}
