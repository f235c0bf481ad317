import Glibc

/// One connection of a load generator. It owns its socket until ``close()``.
struct HTTPLoadConnection {
    let socket: Int32
    private var request: [UInt8] = []
    private var sent = 0
    private var received: [UInt8] = []
    /// When the request in flight was due; nil when there is none.
    private(set) var due: Double?

    /// Connects to the loopback interface.
    init(port: Int) throws(BenchmarkError) {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let socket = socket
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        guard isConnected, fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else {
            let reason = String(cString: strerror(errno))
            Glibc.close(socket)
            throw BenchmarkError(.system, "no connection to 127.0.0.1:\(port): \(reason)")
        }
    }

    func close() {
        Glibc.close(socket)
    }

    /// The events for poll(2).
    var events: Int16 {
        guard due != nil else { return Int16(POLLIN) }
        return Int16(sent < request.count ? POLLIN | POLLOUT : POLLIN)
    }

    /// Begins a request.
    mutating func begin(_ request: [UInt8], due: Double) throws(BenchmarkError) {
        self.request = request
        self.due = due
        sent = 0
        try send()
    }

    /// Sends as much as the socket accepts now.
    mutating func send() throws(BenchmarkError) {
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 {
                if errno == EAGAIN { return }
                if errno == EINTR { continue }
                throw BenchmarkError(.system, "a request cannot be sent: \(String(cString: strerror(errno)))")
            }
            sent += count
        }
    }

    /// Reads available bytes. Returns true when the answer is complete; throws unless its status is 200.
    mutating func receive(into buffer: inout [UInt8]) throws(BenchmarkError) -> Bool {
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0 {
                if errno == EAGAIN { return false }
                if errno == EINTR { continue }
                throw BenchmarkError(.system, "an answer cannot be read: \(String(cString: strerror(errno)))")
            }
            guard count > 0 else { throw BenchmarkError(.wrongResult, "the server has closed a connection") }
            received += buffer[..<count]
            switch HTTPAnswer.parse(received[...]) {
            case .incomplete: continue
            case .unusable: throw BenchmarkError(.wrongResult, "the server's answer is malformed, or closes the connection")
            case .complete(let status, let length):
                guard status == 200, length == received.count else {
                    throw BenchmarkError(.wrongResult, "a request was answered with \(status)")
                }
                received.removeAll(keepingCapacity: true)
                due = nil
                return true
            }
        }
    }
}
