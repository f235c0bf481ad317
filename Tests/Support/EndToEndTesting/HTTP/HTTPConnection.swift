import Glibc

/// A persistent HTTP/1.1 client connection. Its calls block; see ``HTTPClient``.
package final class HTTPConnection {
    private let descriptor: Int32
    private var unread: [UInt8] = []

    package init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = UInt16(port).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw NoAnswer(description: "connect: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request and reads its answer.
    package func exchange(
        _ method: String,
        _ path: String,
        fields: [String: String] = [:],
        body: [UInt8]? = nil
    ) throws -> HTTPAnswer {
        var all = ["host": "127.0.0.1"]
        if let body { all["content-length"] = "\(body.count)" }
        all.merge(fields) { _, given in given }
        let head = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
        send(Array(head.utf8) + (body ?? []))
        return try answer(hasBody: method != "HEAD")
    }

    /// Sends bytes, and ignores a failure: the server may have answered before it closed the connection.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads the next answer.
    package func answer(hasBody: Bool = true) throws -> HTTPAnswer {
        let head = try String(decoding: take(through: Array("\r\n\r\n".utf8)), as: UTF8.self)
        let lines = head.split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw NoAnswer(description: "no status line in \(head)")
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " }) }
        }
        let length = hasBody ? fields["content-length"].flatMap { Int($0) } ?? 0 : 0
        while unread.count < length { try receive() }
        defer { unread.removeFirst(length) }
        return HTTPAnswer(status: status, fields: fields, body: Array(unread[..<length]))
    }

    /// Reads the next line of a body, without its line feed.
    package func line() throws -> String {
        try String(decoding: take(through: [UInt8(ascii: "\n")]), as: UTF8.self)
    }

    private func take(through end: [UInt8]) throws -> [UInt8] {
        while true {
            if unread.count >= end.count {
                for index in 0...(unread.count - end.count) where unread[index..<(index + end.count)].elementsEqual(end) {
                    defer { unread.removeFirst(index + end.count) }
                    return Array(unread[..<index])
                }
            }
            try receive()
        }
    }

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var count: Int
        repeat { count = recv(descriptor, &buffer, buffer.count, 0) } while count < 0 && errno == EINTR
        guard count > 0 else {
            throw NoAnswer(description: count == 0 ? "the server closed the connection" : "recv: \(String(cString: strerror(errno)))")
        }
        unread += buffer[..<count]
    }
}
