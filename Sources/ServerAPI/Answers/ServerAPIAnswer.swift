package import AppStore

/// An answer of the App Store Server API with a status of 2xx.
package struct ServerAPIAnswer: Sendable {
    package let status: Int
    /// Empty for some endpoints.
    package let body: [UInt8]
    /// When this process sent the request.
    package let askedAt: Timestamp
    let request: ServerAPIRequest

    package init(status: Int, body: [UInt8], askedAt: Timestamp, to request: ServerAPIRequest) {
        self.status = status
        self.body = body
        self.askedAt = askedAt
        self.request = request
    }
}

extension ServerAPIAnswer: CustomStringConvertible, CustomReflectable {
    /// Shows only the length of the body.
    package var description: String { "status \(status), \(body.count) bytes" }
    package var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}
