import CLibPQ

/// Owner of one `PGcancel`.
///
/// Unchecked: a `PGcancel` is a copy of the connection's data that libpq allows any thread to use; here one thread uses it once.
final class CancelRequest: @unchecked Sendable {
    private let handle: OpaquePointer

    init(taking handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        PQfreeCancel(handle)
    }

    /// Sends the request, blocking. Its result is ignored: the caller has already closed the connection.
    func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(handle, message.baseAddress, Int32(message.count))
        }
    }
}
