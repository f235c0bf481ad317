/// Sample requests with notifications V2.
enum SampleNotification {
    /// A body of the size of a renewal, unique by its number.
    static func body(_ number: Int = 0, bytes: Int = 18_000) -> String {
        let payload = String(repeating: "QUJD", count: bytes / 4)
        return #"{"signedPayload":"eyJhbGciOiJFUzI1NiJ9.\#(payload)\#(number).c2lnbmF0dXJl"}"#
    }

    /// A request that posts a body as Apple does.
    static func post(
        _ body: String,
        to path: String = "/apple/v2/notifications",
        fields: String = "Content-Type: application/json\r\n"
    ) -> String {
        head(to: path, fields: fields + "Content-Length: \(body.utf8.count)\r\n") + body
    }

    /// The head of such a request, including the empty line.
    static func head(to path: String = "/apple/v2/notifications", fields: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: inbox\r\n\(fields)\r\n"
    }
}
