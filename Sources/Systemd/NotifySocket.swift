import Glibc

/// The address of the datagram socket on which systemd listens for the state of a service (`NOTIFY_SOCKET`).
struct NotifySocket: Sendable {
    private let path: [UInt8]

    /// Accepts an absolute path, or an abstract name that begins with `@`.
    ///
    /// - Throws: ``SystemdError`` when the address is of another kind or longer than `sockaddr_un` can hold.
    init(_ address: String) throws(SystemdError) {
        guard address.hasPrefix("/") || address.hasPrefix("@"), address.utf8.count > 1 else {
            throw SystemdError(code: .unsupportedAddress, message: "NOTIFY_SOCKET is neither an absolute path nor an abstract name")
        }
        var path = Array(address.utf8)
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            throw SystemdError(code: .unsupportedAddress, message: "NOTIFY_SOCKET is longer than a Unix socket address can be")
        }
        self.path = path
    }

    /// Sends one datagram from a socket of its own, as `sd_notify(3)` does.
    ///
    /// - Parameter waitingAtMost: how long to wait while the receiver's queue is full, in seconds; nil fails at once.
    func send(_ datagram: String, waitingAtMost seconds: Int?) throws(SystemdError) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemdError(code: .sendFailed, systemCall: "socket", errorNumber: errno) }
        defer { close(descriptor) }
        if let seconds {
            var limit = timeval(tv_sec: seconds, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        let flags = Int32(MSG_NOSIGNAL | (seconds == nil ? MSG_DONTWAIT : 0))
        let bytes = Array(datagram.utf8)
        var sent: Int
        repeat {
            sent = withAddress { address, length in sendto(descriptor, bytes, bytes.count, flags, address, length) }
        } while sent < 0 && errno == EINTR
        guard sent == bytes.count else { throw SystemdError(code: .sendFailed, systemCall: "sendto", errorNumber: errno) }
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int) -> Int {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The address length delimits an abstract name; a trailing NUL would be part of the name.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? MemoryLayout<sa_family_t>.size
        let length = offset + path.count + (path.first == 0 ? 0 : 1)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}
