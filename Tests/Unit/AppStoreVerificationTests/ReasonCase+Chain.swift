import AppStore
import OpenSSL
import StrictJSON

@testable import AppStoreVerification

extension ReasonCase {
    /// Invalid certificates.
    static let chain: [ReasonCase] = [
        ReasonCase(reason: .untrustedRoot, what: "an untrusted store") {
            Attempt(jws: try TestStore().sign(Payloads.notification()), policy: try $0.policy())
        },
        ReasonCase(reason: .untrustedRoot, what: "Apple's root is not its root") {
            Attempt(jws: try $0.sign(Payloads.notification()), policy: VerificationPolicy(apps: nil, environments: nil))
        },
        ReasonCase(reason: .untrustedRoot, what: "a trusted third certificate is ignored") {
            let other = try TestStore()
            let header = other.header(of: [other.leaf, other.intermediate, $0.root])
            return Attempt(jws: try other.sign(Payloads.notification(), header: header), policy: try $0.policy())
        },
        ReasonCase(reason: .untrustedRoot, what: "no root at all") {
            Attempt(jws: try $0.sign(Payloads.notification()), policy: VerificationPolicy(apps: nil, environments: nil, roots: []))
        },
        .form(.chainBroken, "the intermediate of another store") { store in
            let other = try TestStore { $0.intermediate.subject.commonName = "Other Intermediate" }
            return try store.sign(Payloads.notification(), header: store.header(of: [store.leaf, other.intermediate, store.root]))
        },
        .form(.chainBroken, "the root issued the leaf") {
            try $0.sign(Payloads.notification(), header: $0.header(of: [$0.leafBelowRoot(), $0.intermediate, $0.root]))
        },
        .form(.certificateSignatureInvalid, "a tampered leaf") { try $0.sign(Payloads.notification(), header: tampered($0, 0)) },
        .form(.certificateSignatureInvalid, "a tampered intermediate") { try $0.sign(Payloads.notification(), header: tampered($0, 1)) },
        .chain(.certificateExpired, "leaf") { $0.leaf.notAfter = 1_735_689_599 },
        .chain(.certificateExpired, "intermediate") { $0.intermediate.notAfter = 1_735_689_599 },
        .chain(.certificateExpired, "root") { $0.root.notAfter = 1_735_689_599 },
        .chain(.certificateNotYetValid, "leaf") { $0.leaf.notBefore = 1_735_689_601 },
        .chain(.certificateNotYetValid, "intermediate") { $0.intermediate.notBefore = 1_735_689_601 },
        .chain(.pathTooLong) { $0.root.pathLength = 0 },
        .chain(.unknownCriticalExtension, "leaf") { $0.leaf.extensions.append(.init(oid: "1.2.3.4", isCritical: true)) },
        .chain(.unknownCriticalExtension, "intermediate") { $0.intermediate.extensions.append(.init(oid: "1.2.3.4", isCritical: true)) },
        .chain(.unknownCriticalExtension, "a critical marker") { $0.leaf.extensions[0].isCritical = true },
        .chain(.certificateKeyUnsupported, "a key on P-192") { $0.intermediatePublicKey = try PublicKey(der: weakKey) },
        .chain(.certificateTooWeak, "signed with SHA-1") { $0.leaf.digest = .sha1 },
        .chain(.certificateRefused, "a name outside the intermediate's name constraints") {
            $0.intermediate.extensions.append(.init(oid: "2.5.29.30", isCritical: true, value: onlyCountryXX))
        },
        .chain(.certificateRefused, "a root that is not a CA") { $0.root.isCA = false },
        .chain(.intermediateNotCA) { $0.intermediate.isCA = false },
        .chain(.intermediateKeyUsage, "only for revocation lists") { $0.intermediate.keyUsage = .crlSign },
        .chain(.intermediateMarkerMissing) { $0.intermediate.extensions = [] },
        .chain(.intermediateMarkerMissing, "the leaf's marker instead") { $0.intermediate.extensions = $0.leaf.extensions },
        .chain(.leafIsCA) { $0.leaf.isCA = true },
        .chain(.leafKeyUsage, "only for revocation lists") { $0.leaf.keyUsage = .crlSign },
        .chain(.leafKeyNotP256) { $0.leafKey = try .generate(.p384) },
        .chain(.leafMarkerMissing) { $0.leaf.extensions = [] },
    ]

    /// Changes the last byte, which is part of the issuer's signature, so that the certificate is still valid DER.
    private static func tampered(_ store: TestStore, _ index: Int) throws -> JSONObject {
        var certificates = [store.leaf, store.intermediate, store.root]
        var der = certificates[index].der
        der[der.count - 1] ^= 1
        certificates[index] = try Certificate(der: der)
        return store.header(of: certificates)
    }

    /// permittedSubtrees with the directory name C=XX alone (RFC 5280 §4.2.1.10).
    private static let onlyCountryXX: [UInt8] = [
        0x30, 0x15, 0xa0, 0x13, 0x30, 0x11, 0xa4, 0x0f, 0x30, 0x0d, 0x31, 0x0b, 0x30, 0x09, 0x06, 0x03, 0x55, 0x04, 0x06, 0x13, 0x02, 0x58,
        0x58,
    ]

    /// A SubjectPublicKeyInfo on P-192: 96 bits of security.
    private static let weakKey: [UInt8] =
        Base64.decode("MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAE6Oj/goTxGCO5x40WPYM94eiWHfWZHXO+fKA9lFpAAGgw/LA8OGkEvrBYlg2SlK5E") ?? []
}
