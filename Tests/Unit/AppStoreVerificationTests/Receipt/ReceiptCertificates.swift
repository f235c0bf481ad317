import AppStore
import OpenSSL
import StoreSimulator

/// The certificates of a receipt, for errors that the simulator's authority has no option for.
struct ReceiptCertificates {
    var root = authority("Root")
    var intermediate = authority("Intermediate", marker: "1.2.840.113635.100.6.2.1")
    var leaf = Self.leafRequest
    var leafKey: PrivateKey
    var isBelowRoot = false

    private static let keys = Result {
        try (root: PrivateKey.generate(.p256), intermediate: PrivateKey.generate(.p256), leaf: PrivateKey.generateRSA(bitCount: 2048))
    }

    init() throws {
        leafKey = try Self.keys.get().leaf
    }

    /// A receipt signed by the leaf's key if it is RSA, otherwise by another key.
    func envelope() throws -> (ReceiptEnvelope, root: Certificate) {
        let keys = try Self.keys.get()
        let root = try root.selfSigned(by: keys.root)
        let intermediate = try intermediate.issued(for: keys.intermediate.publicKey, by: root, key: keys.root)
        let issuer = isBelowRoot ? (root, keys.root) : (intermediate, keys.intermediate)
        let leaf = try leaf.issued(for: leafKey.publicKey, by: issuer.0, key: issuer.1)
        var envelope = try TestReceipts.envelope()
        envelope.certificates = [leaf, intermediate].map(\.der)
        // The verifier finds the signer by its serial number.
        envelope.signerIdentifier = [[0x30, 0x00], [0x02, 0x01, 0x07]]
        if leafKey.publicKey.rsaBitCount != nil { envelope.signature = try leafKey.signRSA(TestReceipts.receipt.encoded, digest: .sha256) }
        return (envelope, root)
    }

    static func authority(_ name: String, marker: String? = nil) -> CertificateBuilder {
        var builder = builder(name)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        builder.extensions = marker.map { [.init(oid: $0)] } ?? []
        return builder
    }

    private static var leafRequest: CertificateBuilder {
        var builder = builder("Leaf")
        builder.keyUsage = .digitalSignature
        builder.extensions = [.init(oid: "1.2.840.113635.100.6.11.1")]
        return builder
    }

    private static func builder(_ name: String) -> CertificateBuilder {
        let second = TestReceipts.now.millisecondsSince1970 / 1000
        return CertificateBuilder(
            subject: .init(commonName: name),
            serialNumber: [7],
            notBefore: second - 86_400,
            notAfter: second + 86_400
        )
    }
}
