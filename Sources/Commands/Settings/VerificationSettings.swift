import AppStore
import AppStoreVerification
import Interpretation
import OpenSSL
import Revocation

/// The settings that decide which events count, for the worker and `explain`.
struct VerificationSettings: Sendable {
    /// The apps whose notifications are processed; at least one.
    let apps: [App]
    /// The environments that are processed; at least one.
    let environments: Set<AppStoreEnvironment>
    let extraRoots: [ExtraRoot]
    /// The certificates in the files of ``extraRoots``.
    private let trustedRoots: [TrustedRoot]
    /// The secrets that are sent to verifyReceipt.
    let sharedSecrets: SharedSecrets
    /// Whether posted receipts are sent to verifyReceipt.
    let verifyReceipt: VerifyReceiptMode

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.verification, and: Self.problems(reader))
        apps = try reader.required(Settings.apps)
        environments = try reader.required(Settings.environments)
        extraRoots = try reader.required(Settings.extraRoots)
        var roots: [TrustedRoot] = []
        for root in extraRoots {
            do throws(RootFile.Unusable) { roots += try root.trusted() } catch { throw SettingsError([error.description]) }
        }
        trustedRoots = roots
        sharedSecrets = try reader.sharedSecrets()?.secrets ?? SharedSecrets()
        verifyReceipt = try reader.required(Settings.verifyReceipt)
    }

    /// Files of extra roots that cannot be used.
    static func problems(_ reader: SettingsReader) -> [String] {
        guard let roots = reader.valid(Settings.extraRoots) else { return [] }
        return roots.compactMap { root in
            do throws(RootFile.Unusable) {
                _ = try root.trusted()
                return nil
            } catch {
                return "\(reader.place(of: Settings.extraRoots)): \(error)"
            }
        }
    }

    /// The reader of events, with everything that decides about them.
    var eventReader: EventReader { EventReader(verifier: verifier, receipts: receiptVerifier, legacy: legacy) }

    /// Which OCSP responders may be asked whether certificates are revoked.
    var responderHosts: ResponderHosts { extraRoots.isEmpty ? .apple : .any }

    /// The secrets that are sent to verifyReceipt. Without the secret of an app, a worker makes no calls for it and leaves them to other
    /// workers.
    var outboundSecrets: SharedSecrets { verifyReceipt == .apple ? sharedSecrets : SharedSecrets() }

    /// The verifier of JWS for the settings' roots, apps and environments.
    private var verifier: Verifier {
        Verifier(policy: VerificationPolicy(apps: apps, environments: environments, roots: [.appleRootCAG3] + trustedRoots))
    }

    /// The verifier of receipts, which chain to another Apple root.
    private var receiptVerifier: ReceiptVerifier {
        ReceiptVerifier(policy: VerificationPolicy(apps: apps, environments: environments, roots: [.appleRootCA] + trustedRoots))
    }

    /// Which receipts are sent to verifyReceipt.
    private var legacy: LegacySettings {
        let bundleIDs = apps.map(\.bundleID).filter { !sharedSecrets.secrets(of: $0).isEmpty }
        return LegacySettings(mode: verifyReceipt, appsWithSecret: Set(bundleIDs))
    }

    /// The roots for a log: Apple's, and the files of others with their environments.
    var rootNames: [String] {
        ["Apple Root CA - G3", "Apple Root CA"]
            + extraRoots.map { root in "\(root.path) (\(root.environments.map(\.rawValue).sorted().joined(separator: ", ")))" }
    }
}

/// A root certificate that is trusted in addition to Apple's, for some environments.
struct ExtraRoot: Hashable, Sendable {
    /// A PEM or DER file.
    let path: String
    /// The environments for which it is trusted.
    let environments: Set<AppStoreEnvironment>

    /// The file's certificates, for the environments that the setting names.
    fileprivate func trusted() throws(RootFile.Unusable) -> [TrustedRoot] {
        try RootFile(path: path).trusted(for: environments)
    }
}

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
