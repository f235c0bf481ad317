import Glibc
import NIOPosix

/// A file or standard input, read in parts on threads that may block.
struct InputFile: Sendable {
    /// A read error; names the file.
    struct Unreadable: Error, CustomStringConvertible {
        let description: String

        fileprivate init(path: String, _ code: Int32) {
            description = "\(path): cannot be read: \(String(cString: strerror(code)))"
        }
    }

    private let path: String
    private let file: OpenFile

    private static let chunk = 1 << 16

    /// - Parameter path: `-` for standard input.
    init(path: String) throws(Unreadable) {
        self.path = path == "-" ? "standard input" : path
        let descriptor = open(path == "-" ? "/dev/stdin" : path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw Unreadable(path: self.path, errno) }
        file = OpenFile(descriptor: descriptor)
    }

    /// Whether a file can be read a second time. It is not opened for that: the writer of a pipe would lose its reader.
    static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The next bytes; empty at the end.
    func read() async throws -> [UInt8] {
        switch try await NIOThreadPool.singleton.runIfActive({ [file] in file.read(upTo: Self.chunk) }) {
        case .success(let bytes): return bytes
        case .failure(let error): throw Unreadable(path: path, error.code)
        }
    }
}

/// An open file, closed with its last owner.
private final class OpenFile: Sendable {
    struct Failure: Error {
        let code: Int32
    }

    private let descriptor: Int32

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Blocks until there are bytes; empty at the end of the file.
    func read(upTo count: Int) -> Result<[UInt8], Failure> {
        var bytes = [UInt8](repeating: 0, count: count)
        var length: Int
        repeat { length = Glibc.read(descriptor, &bytes, count) } while length < 0 && errno == EINTR
        return length < 0 ? .failure(Failure(code: errno)) : .success(Array(bytes[..<length]))
    }
}
