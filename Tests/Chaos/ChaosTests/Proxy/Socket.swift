import Glibc

/// Blocking calls on TCP sockets.
enum Socket {
    /// The bytes received; nil at the end of the stream.
    static func receive(_ descriptor: Int32) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var received: Int
            repeat { received = recv(descriptor, buffer.baseAddress, buffer.count, 0) } while received < 0 && errno == EINTR
            count = max(received, 0)
        }
        return bytes.isEmpty ? nil : bytes
    }

    /// Sends all bytes; false when the peer is gone.
    static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Closes the socket so that the peer receives a reset.
    static func reset(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    /// Connects to a loopback port; nil when the connection is refused.
    static func connect(to port: Int) -> Int32? {
        let descriptor = make()
        var address = loopback(port)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Listens on a free loopback port.
    static func listen() -> (descriptor: Int32, port: Int)? {
        let descriptor = make()
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                bind(descriptor, pointer.baseAddress, length) == 0 && Glibc.listen(descriptor, 128) == 0
                    && getsockname(descriptor, pointer.baseAddress, &length) == 0
            }
        }
        return isBound ? (descriptor, Int(UInt16(bigEndian: address.sin_port))) : nil
    }

    /// The next client of a listener; nil when the listener is closed.
    static func accept(from listener: Int32) -> Int32? {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if client >= 0 {
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                disableNagle(client)
                return client
            }
            if errno != EINTR && errno != ECONNABORTED { return nil }
        }
    }

    private static func make() -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        disableNagle(descriptor)
        return descriptor
    }

    /// Sends small messages without delay.
    private static func disableNagle(_ descriptor: Int32) {
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        return address
    }
}
