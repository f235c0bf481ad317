package import AppStore
import FoundationEssentials
import Glibc
import OpenSSL

/// A folder that keeps a test authority from one run to the next.
///
/// `authority.pem` (mode 0600) holds the chain and the three keys. One file can be created atomically, so two processes that create an
/// authority at the same time get the same one. `root.pem` is the certificate for others to trust.
package struct AuthorityFolder: Sendable {
    /// The folder; created with mode 0700 if it is missing.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The path of the root certificate, in PEM.
    package var rootPath: String { "\(path)/root.pem" }
    private var authorityPath: String { "\(path)/authority.pem" }

    /// Returns the folder's authority and creates it if there is none. A leaf that is not valid at `now` is renewed under the same root.
    package func open(now: Timestamp) throws(SimulationError) -> TestAuthority {
        let authority = if let kept = try load() { kept } else { try create(now: now) }
        if access(rootPath, F_OK) != 0 { try write(Array(authority.root.pem.utf8), to: rootPath, mode: 0o644, replacing: true) }
        guard !authority.covers(now) else { return authority }
        do {
            let renewed = try authority.renewingLeaf(around: now)
            try write(Array(renewed.pem.utf8), to: authorityPath, mode: 0o600, replacing: true)
            return renewed
        } catch let error as SimulationError {
            throw error
        } catch {
            throw SimulationError(.authorityFolder, "the leaf in \(authorityPath) cannot be renewed", cause: error)
        }
    }

    /// The folder's authority, or nil when it has none.
    package func load() throws(SimulationError) -> TestAuthority? {
        guard access(authorityPath, F_OK) == 0 else {
            guard errno == ENOENT else { throw failure("read", authorityPath) }
            return nil
        }
        do {
            let bytes = try Data(contentsOf: URL(filePath: authorityPath))
            return try TestAuthority(pem: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw SimulationError(.authorityFolder, "\(authorityPath) holds no test authority", cause: error)
        }
    }

    private func create(now: Timestamp) throws(SimulationError) -> TestAuthority {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            let authority = try TestAuthority.generate(AuthorityOptions(around: now))
            try write(Array(authority.pem.utf8), to: authorityPath, mode: 0o600, replacing: false)
        } catch let error as SimulationError {
            throw error
        } catch {
            throw SimulationError(.authorityFolder, "cannot create a test authority in \(path)", cause: error)
        }
        // Load it, since another process may have created the file first.
        guard let authority = try load() else { throw SimulationError(.authorityFolder, "\(authorityPath) has vanished") }
        return authority
    }

    /// Creates `target` atomically; with `replacing` false, an existing file is kept.
    private func write(_ bytes: [UInt8], to target: String, mode: mode_t, replacing: Bool) throws(SimulationError) {
        let temporary = "\(target).\(getpid()).\(UInt32.random(in: 0 ... .max))"
        let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("create", temporary) }
        defer { unlink(temporary) }
        let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
        let isDurable = fsync(descriptor) == 0
        guard close(descriptor) == 0, isDurable, written else { throw failure("write", temporary) }
        let appeared = replacing ? rename(temporary, target) == 0 : link(temporary, target) == 0 || errno == EEXIST
        guard appeared else { throw failure("create", target) }
    }

    private func failure(_ verb: String, _ path: String) -> SimulationError {
        SimulationError(.authorityFolder, "cannot \(verb) \(path): \(String(cString: strerror(errno)))")
    }
}
