import AppStore

/// What a host puts on the wire.
package struct VerifyReceiptReply: Hashable, Sendable {
    /// How it does that.
    package enum Manner: Hashable, Sendable {
        case atOnce
        /// After so long a silence.
        case after(Duration)
        /// After a silence that ends when the server is told so, or never.
        case whenReleased
        /// The head, and then a space every so often, without an end.
        case trickling(every: Duration)
        /// The head, so many bytes of the body, and then the end of the connection.
        case cut(after: Int)
        /// A reset of the connection instead of anything.
        case reset
    }

    package struct Header: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package var status = 200
    package var headers = [Header(name: "content-type", value: "application/json")]
    package var body: [UInt8]
    package var manner = Manner.atOnce

    init(_ json: JSONObject) {
        body = JSONSerializer.serialize(json)
    }

    init(status: Int, contentType: String, body: String) {
        self.status = status
        headers = [Header(name: "content-type", value: contentType)]
        self.body = Array(body.utf8)
    }
}
