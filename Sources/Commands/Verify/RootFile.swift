import AppStore
import AppStoreVerification
import OpenSSL

/// A file with root certificates: one in DER, or any number in PEM.
struct RootFile {
    /// An unusable file; names the file.
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    let certificates: [Certificate]
    private let path: String

    init(path: String) throws(Unusable) {
        self.path = path
        let bytes: [UInt8]
        do throws(ReadableFile.Unreadable) {
            bytes = try ReadableFile.bytes(at: path)
        } catch {
            throw Unusable(description: "\(path.mayHoldSecret ? "the file" : path) cannot be read: \(error)")
        }
        do {
            // DER begins with the tag of a SEQUENCE; PEM is text and cannot.
            certificates = bytes.first == 0x30 ? [try Certificate(der: bytes)] : try Certificate.bundle(pem: bytes)
        } catch {
            throw Unusable(description: "\(path): neither a certificate in DER nor certificates in PEM: \(error)")
        }
    }

    /// The certificates as trust anchors for these environments; nil for any.
    func trusted(for environments: Set<AppStoreEnvironment>?) throws(Unusable) -> [TrustedRoot] {
        var roots: [TrustedRoot] = []
        for certificate in certificates {
            do {
                roots.append(try TrustedRoot(certificate, environments: environments))
            } catch {
                throw Unusable(description: "\(path): \(error)")
            }
        }
        return roots
    }
}

extension ExtraRoot {
    /// The file's certificates, for the environments that the setting names.
    func trusted() throws(RootFile.Unusable) -> [TrustedRoot] {
        try RootFile(path: path).trusted(for: environments)
    }
}
