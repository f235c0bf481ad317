import NIOCore

/// Sends the pieces of an answer to the client.
package struct ResponseWriter: Sendable {
    private let send: @Sendable (ByteBuffer) -> EventLoopFuture<Void>

    /// - Parameter send: the future succeeds when the operating system has taken the bytes.
    init(send: @escaping @Sendable (ByteBuffer) -> EventLoopFuture<Void>) {
        self.send = send
    }

    /// Sends text, and returns when the operating system has taken it: a slow client holds one piece in memory.
    ///
    /// - Returns: false when the connection is closed, by the client, at its timeout or at the end of the grace period.
    package func write(_ text: String) async -> Bool {
        do {
            try await send(ByteBuffer(string: text)).get()
            return true
        } catch {
            return false
        }
    }
}
