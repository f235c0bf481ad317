package import StrictJSON

/// An HTTP response of a simulated host.
package struct SimulatedReply: Hashable, Sendable {
    /// How the response is sent.
    package enum Manner: Hashable, Sendable {
        case atOnce
        /// After a delay.
        case after(Duration)
        /// When the server's `release()` is called.
        case whenReleased
        /// The head, and then a space at intervals, without an end.
        case trickling(every: Duration)
        /// The head, so many bytes of the body, and then the connection is closed.
        case cut(after: Int)
        /// The connection is reset without a response.
        case reset
        /// The whole response, which keeps the connection open, and then the connection is closed.
        case thenClosed
        /// Nothing, over a connection that stays open.
        case never
    }

    package struct Header: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    /// No response.
    package static var never: SimulatedReply {
        var reply = SimulatedReply(status: 0)
        reply.manner = .never
        return reply
    }

    package var status = 200
    package var headers = [Header(name: "content-type", value: "application/json")]
    package var body: [UInt8]
    package var manner = Manner.atOnce

    package init(status: Int = 200, _ json: JSONObject) {
        self.status = status
        body = JSONSerializer.serialize(json)
    }

    /// A response without a body.
    package init(status: Int) {
        self.status = status
        headers = []
        body = []
    }

    init(status: Int, contentType: String, body: String) {
        self.status = status
        headers = [Header(name: "content-type", value: contentType)]
        self.body = Array(body.utf8)
    }
}
