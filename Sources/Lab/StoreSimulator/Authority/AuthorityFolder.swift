package import AppStore
import FoundationEssentials
import Glibc
import OpenSSL

/// A folder that keeps a test authority from one run to the next, and beside it one for receipts.
///
/// `authority.pem` (mode 0600) holds the chain and the three keys, `receipts.pem` those of receipts. One file can be created atomically, so two
/// processes that create an authority at the same time get the same one. `root.pem` and `receipt-root.pem` are the certificates for others
/// to trust.
package struct AuthorityFolder: Sendable {
    /// The folder; created with mode 0700 if it is missing.
    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// The path of the root certificate, in PEM.
    package var rootPath: String { "\(path)/root.pem" }
    /// The path of the root certificate of receipts, in PEM.
    package var receiptRootPath: String { "\(path)/receipt-root.pem" }
    private var authorityPath: String { "\(path)/authority.pem" }
    private var receiptAuthorityPath: String { "\(path)/receipts.pem" }

    /// Returns the folder's authority and creates it if there is none. A leaf that is not valid at `now` is renewed under the same root.
    package func open(now: Timestamp) throws(SimulationError) -> TestAuthority {
        let authority = try kept(
            at: authorityPath,
            create: { try TestAuthority.generate(AuthorityOptions(around: now)).pem },
            read: { try TestAuthority(pem: $0) }
        )
        try keepRoot(authority.root, at: rootPath)
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

    /// Returns the folder's authority for receipts and creates it, valid for decades around `now`, if there is none.
    package func openReceipts(now: Timestamp) throws(SimulationError) -> ReceiptAuthority {
        let authority = try kept(
            at: receiptAuthorityPath,
            create: { try ReceiptAuthority.generate(.longLived(around: now)).pem },
            read: { try ReceiptAuthority(pem: $0) }
        )
        try keepRoot(authority.root, at: receiptRootPath)
        return authority
    }

    /// The authority that the folder keeps in a file, or else a new one.
    private func kept<Authority>(
        at file: String,
        create: () throws -> String,
        read: (String) throws -> Authority
    ) throws(SimulationError) -> Authority {
        if let kept = try load(file, read) { return kept }
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try write(Array(try create().utf8), to: file, mode: 0o600, replacing: false)
        } catch let error as SimulationError {
            throw error
        } catch {
            throw SimulationError(.authorityFolder, "cannot create a test authority in \(path)", cause: error)
        }
        // Load it, since another process may have created the file first.
        guard let authority = try load(file, read) else { throw SimulationError(.authorityFolder, "\(file) has vanished") }
        return authority
    }

    /// The authority in a file, or nil when there is no file.
    private func load<Authority>(_ file: String, _ read: (String) throws -> Authority) throws(SimulationError) -> Authority? {
        guard access(file, F_OK) == 0 else {
            guard errno == ENOENT else { throw failure("read", file) }
            return nil
        }
        do {
            return try read(String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self))
        } catch {
            throw SimulationError(.authorityFolder, "\(file) holds no test authority", cause: error)
        }
    }

    private func keepRoot(_ root: Certificate, at file: String) throws(SimulationError) {
        if access(file, F_OK) != 0 { try write(Array(root.pem.utf8), to: file, mode: 0o644, replacing: true) }
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
