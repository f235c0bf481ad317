/// The response to one request.
package struct HTTPAnswer: Hashable, Sendable {
    package let status: Int
    /// By lower-case name.
    package let fields: [String: String]
    package let body: [UInt8]

    /// The last component of a problem document's type (RFC 9457), such as `not-json`.
    package var problem: String? {
        guard fields["content-type"] == "application/problem+json", let document = try? JSONDocument(String(decoding: body, as: UTF8.self)),
            let type = document.text("type")
        else { return nil }
        return type.split(separator: ":").last.map(String.init)
    }
}

/// The connection broke before the answer was complete: the request may or may not have been processed.
package struct NoAnswer: Error, CustomStringConvertible {
    package let description: String
}
