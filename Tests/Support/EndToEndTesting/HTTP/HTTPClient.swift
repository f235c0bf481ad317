import PostgresTesting

/// An HTTP client of one listener.
package struct HTTPClient: Sendable {
    package static let notifications = "/apple/v2/notifications"
    package let port: Int

    package init(port: Int) {
        self.port = port
    }

    /// Posts bodies as notifications, sequentially on one connection, and returns the answers.
    package func post(_ bodies: [[UInt8]]) async throws -> [HTTPAnswer] {
        try await connected { connection in
            try bodies.map { try connection.exchange("POST", Self.notifications, fields: ["content-type": "application/json"], body: $0) }
        }
    }

    /// Posts one body as a notification.
    package func post(_ body: [UInt8]) async throws -> HTTPAnswer {
        try await post([body])[0]
    }

    package func get(_ path: String) async throws -> HTTPAnswer {
        try await connected { try $0.exchange("GET", path) }
    }

    /// Lends a connection on its own thread, where calls may block.
    package func connected<Value: Sendable>(_ body: @escaping @Sendable (HTTPConnection) throws -> Value) async throws -> Value {
        let port = port
        return try await blocking { try body(try HTTPConnection(port: port)) }
    }
}
