import OpenSSL
import Testing

struct CertificateTests {
    private static let day: Int64 = 86_400
    private let rootKey: PrivateKey
    private let root: Certificate

    init() throws {
        rootKey = try .generate(.p384)
        root = try Self.authority("Root").selfSigned(by: rootKey)
    }

    @Test func `a built certificate has the requested contents`() throws {
        var builder = Self.builder("Leaf")
        builder.keyUsage = .digitalSignature
        builder.extensions = [.init(oid: "1.2.840.113635.100.6.11.1")]
        let key = try PrivateKey.generate(.p256)
        let leaf = try builder.issued(for: key.publicKey, by: root, key: rootKey)
        #expect(!leaf.isCA && leaf.keyUsage == .digitalSignature && leaf.publicKey?.isP256 == true)
        #expect(leaf.notBefore == Self.day && leaf.notAfter == 10 * Self.day)
        #expect(leaf.hasExtension(oid: "1.2.840.113635.100.6.11.1") && !leaf.hasExtension(oid: "1.2.840.113635.100.6.2.1"))
        #expect(!leaf.isSelfSigned && root.isSelfSigned && root.isCA && root.keyUsage == [.keyCertSign, .crlSign])
        #expect(leaf.sha256Fingerprint == Digest.sha256(leaf.der))
    }

    @Test func `a certificate is unchanged after DER and PEM`() throws {
        #expect(try Certificate(der: root.der) == root)
        #expect(try Certificate.single(pem: root.pem) == root)
        let other = try Self.authority("Other").selfSigned(by: rootKey)
        #expect(try Certificate.bundle(pem: Array(("# ours\n" + root.pem + "\n" + other.pem).utf8)) == [root, other])
    }

    @Test func `one byte after the DER is refused`() {
        let error = #expect(throws: OpenSSLError.self) { try Certificate(der: root.der + [0]) }
        #expect(error?.code == .trailingBytes)
    }

    @Test func `a truncated, empty or indefinite-length certificate is refused`() {
        let contents = root.der[4...]
        let indefinite = [0x30, 0x80] + contents + [0, 0]
        for bytes in [[], Array(root.der.dropLast()), indefinite] {
            let error = #expect(throws: OpenSSLError.self) { try Certificate(der: bytes) }
            #expect(error?.code == .malformedCertificate)
        }
    }

    @Test(arguments: [
        "", "no PEM at all", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nMIIB",
    ])
    func `text without a complete certificate is refused`(pem: String) {
        #expect(throws: OpenSSLError.self) { try Certificate.bundle(pem: Array(pem.utf8)) }
    }

    @Test func `a damaged block after an intact one is refused`() {
        let damaged = root.pem + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        #expect(throws: OpenSSLError.self) { try Certificate.bundle(pem: Array(damaged.utf8)) }
        #expect(throws: OpenSSLError.self) { try Certificate.single(pem: root.pem + root.pem) }
    }

    @Test func `after any change of one byte a certificate is refused or has no valid chain`() async throws {
        let leaf = try Self.builder("Leaf").issued(for: try PrivateKey.generate(.p256).publicKey, by: root, key: rootKey)
        for index in leaf.der.indices {
            await Task.yield()
            var der = leaf.der
            der[index] ^= 0x41
            do {
                let verdict = CertificateChain.validate(leaf: try Certificate(der: der), intermediates: [], roots: [root], at: 2 * Self.day)
                if case .accepted = verdict { Issue.record("accepted with byte \(index) changed") }
            } catch {
                #expect(!error.message.isEmpty)
            }
        }
    }

    @Test(arguments: [(86_399, false), (86_400, true), (864_000, true), (864_001, false)])
    func `the validity period includes both ends`(time: Int64, isValid: Bool) throws {
        let leaf = try Self.builder("Leaf").issued(for: try PrivateKey.generate(.p256).publicKey, by: root, key: rootKey)
        switch CertificateChain.validate(leaf: leaf, intermediates: [], roots: [root], at: time) {
        case .accepted(let path): #expect(isValid && path == [leaf, root])
        case .refused(let refusal): #expect(!isValid && refusal.problem == (time < Self.day ? .notYetValid : .expired))
        }
    }

    @Test func `an expired root does not hide its successor of the same name and key`() throws {
        var successor = Self.authority("Root")
        successor.notBefore = 11 * Self.day
        successor.notAfter = 20 * Self.day
        let newRoot = try successor.selfSigned(by: rootKey)
        var builder = Self.builder("Leaf")
        builder.notAfter = 20 * Self.day
        let leaf = try builder.issued(for: try PrivateKey.generate(.p256).publicKey, by: root, key: rootKey)
        for roots in [[root, newRoot], [newRoot, root]] {
            guard case .accepted(let path) = CertificateChain.validate(leaf: leaf, intermediates: [], roots: roots, at: 12 * Self.day)
            else {
                Issue.record("refused")
                continue
            }
            #expect(path.last == newRoot)
        }
    }

    @Test func `invalid values for a certificate are refused`() throws {
        var builder = Self.builder("Leaf")
        builder.subject.country = "Germany"
        #expect(throws: OpenSSLError.self) { try builder.selfSigned(by: rootKey) }
        builder = Self.builder("Leaf")
        builder.extensions = [.init(oid: "not an identifier")]
        #expect(throws: OpenSSLError.self) { try builder.selfSigned(by: rootKey) }
    }

    private static func builder(_ name: String) -> CertificateBuilder {
        CertificateBuilder(subject: .init(commonName: name), serialNumber: [1], notBefore: day, notAfter: 10 * day)
    }

    private static func authority(_ name: String) -> CertificateBuilder {
        var builder = builder(name)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        return builder
    }
}
