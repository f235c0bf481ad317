import Glibc
import NIOPosix

/// Reads a file that a setting or an argument names; `-` in an argument is standard input.
enum ReadableFile {
    /// Why a file or a folder cannot be read.
    struct Unreadable: Error, CustomStringConvertible {
        fileprivate let code: Int32

        /// Whether there is no file of this name.
        var isMissing: Bool { code == ENOENT || code == ENOTDIR }

        /// Completes a sentence such as `/etc/x cannot be read: permission denied`.
        var description: String {
            switch code {
            case ENOENT, ENOTDIR: "there is no such file"
            case EACCES, EPERM: "permission denied"
            case EISDIR: "it is a folder"
            default: String(cString: strerror(code))
            }
        }
    }

    /// The content of a file, which may be a pipe.
    static func bytes(at path: String) throws(Unreadable) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(code: errno) }
        defer { close(descriptor) }
        return try bytes(of: descriptor)
    }

    /// Everything up to the end of standard input.
    static func standardInput() throws(Unreadable) -> [UInt8] {
        try bytes(of: STDIN_FILENO)
    }

    /// The names of the files in a folder, sorted.
    static func names(in folder: String) throws(Unreadable) -> [String] {
        guard let stream = opendir(folder) else { throw Unreadable(code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    private static func bytes(of descriptor: Int32) throws(Unreadable) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Unreadable(code: errno) }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}

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
