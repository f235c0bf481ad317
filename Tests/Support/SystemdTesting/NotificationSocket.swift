import Glibc
import Synchronization

/// The receiving end of `NOTIFY_SOCKET`, like systemd's.
package final class NotificationSocket: Sendable {
    /// The socket's name: in the abstract namespace, or a file.
    package enum Kind: CaseIterable, Sendable {
        case abstract, file
    }

    private static let count = Atomic(0)

    /// The value of `NOTIFY_SOCKET`.
    package let address: String
    package let descriptor: Int32

    package init(_ kind: Kind = .abstract) throws {
        let name = "appstore-inbox-notify-\(getpid())-\(Self.count.add(1, ordering: .relaxed).newValue)"
        address = kind == .file ? "/tmp/\(name).socket" : "@\(name)"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var socketAddress = sockaddr_un()
        socketAddress.sun_family = sa_family_t(AF_UNIX)
        let bytes = kind == .file ? Array(address.utf8) + [0] : [0] + Array(address.utf8.dropFirst())
        withUnsafeMutableBytes(of: &socketAddress.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let bound = withUnsafePointer(to: &socketAddress) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw Unbound(description: "\(address) cannot be bound: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
        if address.hasPrefix("/") { unlink(address) }
    }

    /// The datagrams received since the last call.
    package func messages() -> [String] {
        var messages: [String] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return messages }
            messages.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }

    struct Unbound: Error, CustomStringConvertible {
        let description: String
    }
}
