import Glibc
import Synchronization
import TemporaryPostgres

/// A scripted HTTP server on the loopback interface, with a thread for each connection.
final class TinyServer: Sendable {
    enum Action: Sendable {
        case answer, answerAndClose, close, silence
    }

    let port: Int
    private let listener: Int32
    private let counts = Mutex<[Int]>([])

    /// - Parameter action: chooses the action by the number of the connection, from 0, and of its request, from 1.
    init(action: @escaping @Sendable (_ connection: Int, _ request: Int) -> Action) throws {
        port = try FreePort.find()
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let listener = listener
        let isListening = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isListening, listen(listener, 16) == 0 else { throw Missing(what: "a port to listen at") }
        try DetachedThread.start { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    close(listener)
                    return
                }
                guard let self else {
                    close(connection)
                    return
                }
                self.serve(connection, action)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// The number of requests of each connection, in the order of connecting.
    var requests: [Int] { counts.withLock(\.self) }

    private func serve(_ connection: Int32, _ action: @escaping @Sendable (Int, Int) -> Action) {
        let number = counts.withLock { counts in
            counts.append(0)
            return counts.count - 1
        }
        let body: @Sendable () -> Void = { [weak self] in
            defer { close(connection) }
            var buffer = [UInt8](repeating: 0, count: 4096)
            // Requests are so small that they arrive in one piece.
            while recv(connection, &buffer, buffer.count, 0) > 0 {
                let request = self?.count(number) ?? 0
                switch action(number, request) {
                case .close: return
                case .silence: continue
                case .answer, .answerAndClose:
                    let answer = Array("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".utf8)
                    _ = send(connection, answer, answer.count, Int32(MSG_NOSIGNAL))
                    if case .answerAndClose = action(number, request) { return }
                }
            }
        }
        do { try DetachedThread.start(body) } catch { close(connection) }
    }

    private func count(_ connection: Int) -> Int {
        counts.withLock { counts in
            counts[connection] += 1
            return counts[connection]
        }
    }
}
