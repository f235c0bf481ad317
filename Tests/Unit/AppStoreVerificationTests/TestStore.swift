import AppStore
import OpenSSL
import StrictJSON

@testable import AppStoreVerification

/// A simulated App Store that signs any payload, with valid or invalid certificates.
struct TestStore {
    /// The contents and keys of the certificates.
    struct Options {
        var root: CertificateBuilder
        var intermediate: CertificateBuilder
        var leaf: CertificateBuilder
        let rootKey: PrivateKey
        let intermediateKey: PrivateKey
        /// The key in the intermediate's certificate, if not the one that signs the leaf.
        var intermediatePublicKey: PublicKey?
        var leafKey: PrivateKey
    }

    /// 2025-01-01, the time of all tests.
    static let now = Timestamp(millisecondsSince1970: 1_735_689_600_123)
    /// All certificates are valid for a year before and after.
    static let notBefore: Int64 = 1_735_689_600 - 365 * 86_400
    static let notAfter: Int64 = 1_735_689_600 + 365 * 86_400

    /// A store with valid certificates.
    static let genuine = Result { try TestStore() }

    let root: Certificate
    let intermediate: Certificate
    let leaf: Certificate
    let leafKey: PrivateKey
    private let rootKey: PrivateKey

    init(_ change: (inout Options) throws -> Void = { _ in }) throws {
        var options = try Options(
            root: Self.authority("Test Root"),
            intermediate: Self.authority("Test Intermediate", marker: "1.2.840.113635.100.6.2.1"),
            leaf: Self.leafBuilder(),
            rootKey: .generate(.p384),
            intermediateKey: .generate(.p384),
            leafKey: .generate(.p256)
        )
        try change(&options)
        root = try options.root.selfSigned(by: options.rootKey)
        intermediate = try options.intermediate.issued(
            for: options.intermediatePublicKey ?? options.intermediateKey.publicKey,
            by: root,
            key: options.rootKey
        )
        leaf = try options.leaf.issued(for: options.leafKey.publicKey, by: intermediate, key: options.intermediateKey)
        leafKey = options.leafKey
        rootKey = options.rootKey
    }

    /// A certificate for the leaf's key, issued by the root.
    func leafBelowRoot() throws -> Certificate {
        try Self.leafBuilder().issued(for: leafKey.publicKey, by: root, key: rootKey)
    }

    /// Exactly `alg` and `x5c`, as in Apple's headers.
    var header: JSONObject { header(of: [leaf, intermediate, root]) }

    func header(of certificates: [Certificate]) -> JSONObject {
        ["alg": "ES256", "x5c": .array(certificates.map { .string(Base64.encode($0.der)) })]
    }

    /// A compact JWS with a genuine signature over any header and payload.
    func sign(_ payload: JSONObject, header: JSONObject? = nil) throws -> String {
        try sign(JSONSerializer.serialize(payload), headerBytes: JSONSerializer.serialize(header ?? self.header))
    }

    func sign(_ payload: [UInt8], headerBytes: [UInt8]? = nil) throws -> String {
        let header = Base64URL.encode(headerBytes ?? JSONSerializer.serialize(self.header))
        return try sign(segments: header + Array(".".utf8) + Base64URL.encode(payload))
    }

    func sign(segments input: [UInt8]) throws -> String {
        let key = leafKey.publicKey.isP256 ? leafKey : try PrivateKey.generate(.p256)
        let signature = Base64URL.encode(try key.signES256(input))
        return String(decoding: input + Array(".".utf8) + signature, as: UTF8.self)
    }

    /// A policy that trusts this store's root for `environments` (nil: any) and accepts the app of ``Payloads``.
    func policy(trustedFor environments: Set<AppStoreEnvironment>? = nil) throws -> VerificationPolicy {
        VerificationPolicy(
            apps: [App(bundleID: Payloads.bundleID, appAppleID: Payloads.appAppleID)],
            environments: [.production, .sandbox],
            roots: [try TrustedRoot(root, environments: environments)]
        )
    }

    private static func builder(_ name: String, marker: String?) -> CertificateBuilder {
        var builder = CertificateBuilder(
            subject: DistinguishedName(commonName: name),
            serialNumber: [7],
            notBefore: notBefore,
            notAfter: notAfter
        )
        builder.extensions = marker.map { [.init(oid: $0)] } ?? []
        return builder
    }

    private static func leafBuilder() -> CertificateBuilder {
        var builder = builder("Test Leaf", marker: "1.2.840.113635.100.6.11.1")
        builder.keyUsage = .digitalSignature
        return builder
    }

    private static func authority(_ name: String, marker: String? = nil) -> CertificateBuilder {
        var builder = builder(name, marker: marker)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        return builder
    }
}
