package import AppStore
import Outbox
import StrictJSON

/// An answer of the App Store Server API with a status of 2xx.
package struct ServerAPIAnswer: Sendable {
    package let status: Int
    /// Empty for some endpoints.
    package let body: [UInt8]
    /// When this process sent the request.
    package let askedAt: Timestamp
    /// What Apple's support asks for.
    package let requestID: String?
    private let request: ServerAPIRequest

    package init(status: Int, body: [UInt8], askedAt: Timestamp, requestID: String? = nil, to request: ServerAPIRequest) {
        self.status = status
        self.body = body
        self.askedAt = askedAt
        self.requestID = requestID
        self.request = request
    }

    /// The body of an inbox event: `{"asked": {…}, "answer": …}`, with Apple's bytes unchanged in it and all that a replay needs.
    package var eventBody: [UInt8] {
        var asked: JSONObject = [
            "endpoint": .string(request.endpoint.rawValue), "environment": .string(request.lane.environment.rawValue),
            "bundleId": .string(request.lane.bundleID), "path": .array(request.path.map { .string($0) }),
            "at": .integer(askedAt.millisecondsSince1970),
        ]
        if !request.query.isEmpty { asked["query"] = .array(request.query.map { .array([.string($0.name), .string($0.value)]) }) }
        if let body = request.body { asked["body"] = .object(body) }
        let start = Array("{\"asked\":".utf8) + JSONSerializer.serialize(asked) + Array(",\"answer\":".utf8)
        return start + (body.isEmpty ? Array("null".utf8) : body) + [UInt8(ascii: "}")]
    }
}

extension ServerAPIAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}
