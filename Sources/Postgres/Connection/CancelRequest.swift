import CLibPQ

/// Owner of one `PGcancel`.
///
/// Unchecked: libpq makes it a copy of what cancelling needs, to be used from any thread; here one thread uses it once.
final class CancelRequest: @unchecked Sendable {
    private let handle: OpaquePointer

    init(taking handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        PQfreeCancel(handle)
    }

    /// Delivers the request, blocking. Nothing depends on its success: the connection that it is for has been given up.
    func send() {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            _ = PQcancel(handle, message.baseAddress, Int32(message.count))
        }
    }
}
