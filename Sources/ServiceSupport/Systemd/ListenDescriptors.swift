import Glibc

/// The listening sockets that systemd made for this process (socket activation), as `sd_listen_fds_with_names(3)` finds them.
package struct ListenDescriptors: Sendable {
    /// A socket that listens already.
    package struct Listener: Hashable, Sendable {
        package let descriptor: CInt
        /// `127.0.0.1:8080`, `[::1]:8080` or `unix:/run/ingest.socket`.
        package let address: String
    }

    /// By the name that `FileDescriptorName=` of the socket unit gives.
    package let listeners: [String: Listener]

    /// Reads `LISTEN_FDS`, `LISTEN_FDNAMES` and `LISTEN_PID` from `environment`. There are none when the variables are for another process.
    ///
    /// - Throws: ``SystemdError`` when a descriptor is not a listening stream socket, has no name, or has the name of another.
    package init(environment: [String: String]) throws(SystemdError) {
        // SD_LISTEN_FDS_START
        try self.init(environment: environment, processID: getpid()) { CInt(3 + $0) }
    }

    /// - Parameter descriptor: the descriptor with an index.
    init(environment: [String: String], processID: pid_t, descriptor: (Int) -> CInt) throws(SystemdError) {
        var listeners: [String: Listener] = [:]
        if environment["LISTEN_PID"] == "\(processID)", let count = environment["LISTEN_FDS"].flatMap(Int.init), count > 0 {
            let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            guard names.count == count else { throw .unusableSocket("LISTEN_FDNAMES does not have \(count) names") }
            for (index, name) in names.enumerated() {
                guard listeners[name] == nil else { throw .unusableSocket("two sockets have the name \(name)") }
                let descriptor = descriptor(index)
                // systemd passes descriptors that block and that children inherit.
                _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                listeners[name] = Listener(descriptor: descriptor, address: try Self.address(of: descriptor, name))
            }
        }
        self.listeners = listeners
    }

    private static func address(of descriptor: CInt, _ name: String) throws(SystemdError) -> String {
        var isListening: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0, isListening == 1 else {
            throw .unusableSocket("the socket \(name) does not listen for connections")
        }
        var address = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var (host, port) = ([CChar](repeating: 0, count: 128), [CChar](repeating: 0, count: 128))
        let (hostLength, portLength) = (socklen_t(host.count), socklen_t(port.count))
        let status = withUnsafeMutableBytes(of: &address) { bytes -> CInt in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            guard getsockname(descriptor, pointer, &length) == 0 else { return -1 }
            return getnameinfo(pointer, length, &host, hostLength, &port, portLength, NI_NUMERICHOST | NI_NUMERICSERV)
        }
        guard status == 0 else { throw .unusableSocket("the socket \(name) has no address") }
        let (hostText, portText) = (text(host), text(port))
        switch CInt(address.ss_family) {
        case AF_UNIX: return "unix:\(portText)"
        case AF_INET6: return "[\(hostText)]:\(portText)"
        default: return "\(hostText):\(portText)"
        }
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
