import Glibc

/// A datagram socket in place of systemd's; receiving waits at most five seconds.
final class NotificationListener {
    /// The value of `NOTIFY_SOCKET` for a service.
    let address: String
    private let descriptor: CInt

    init(address: String) throws {
        self.address = address
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var name = Array(address.utf8)
        let isAbstract = name[0] == UInt8(ascii: "@")
        if isAbstract { name[0] = 0 }
        var socketAddress = sockaddr_un()
        socketAddress.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count + (isAbstract ? 0 : 1))
        let bound = withUnsafePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw ListenerError(what: "bind \(address): \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
        if address.hasPrefix("/") { unlink(address) }
    }

    /// The next datagram; throws when none comes within five seconds.
    func receive() throws -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw ListenerError(what: "no datagram: \(String(cString: strerror(errno)))") }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Discards the pending datagrams and returns their number.
    func drain() -> Int {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var count = 0
        while recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) >= 0 { count += 1 }
        return count
    }

    struct ListenerError: Error { let what: String }

    static func path() -> String { "/tmp/appstore-inbox-notify-\(getpid())-\(UInt32.random(in: 0 ... .max)).socket" }
    static func abstractName() -> String { "@appstore-inbox-notify-\(getpid())-\(UInt32.random(in: 0 ... .max))" }
}
