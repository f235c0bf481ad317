import Glibc
import Synchronization

/// The receiving end of `NOTIFY_SOCKET`, like systemd's.
package final class ReadinessSocket: Sendable {
    private static let count = Atomic(0)

    /// The value of `NOTIFY_SOCKET`: an abstract name, so that there is no file to remove.
    package let address: String
    package let descriptor: Int32

    package init() throws {
        let number = Self.count.add(1, ordering: .relaxed).newValue
        address = "@appstore-inbox-end-to-end-\(getpid())-\(number)"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let bytes = [0] + Array(address.utf8.dropFirst())
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let bound = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw ProgramFailure(what: "\(address) cannot be bound: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
    }

    /// The messages received since the last call, each as the lines of one datagram.
    package func messages() -> [[Substring]] {
        var messages: [[Substring]] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return messages }
            messages.append(String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n"))
        }
    }
}
