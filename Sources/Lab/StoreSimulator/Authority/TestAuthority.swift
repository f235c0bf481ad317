package import AppStore
package import OpenSSL

/// A throw-away certificate authority shaped like Apple's: a root and an intermediate on P-384, a leaf on P-256, both marker extensions.
///
/// Nothing trusts it unless its root is configured.
package struct TestAuthority: Sendable {
    package let root: Certificate
    package let intermediate: Certificate
    package let leaf: Certificate
    let rootKey: PrivateKey
    let intermediateKey: PrivateKey
    let leafKey: PrivateKey

    /// `x5c`: leaf, intermediate, root.
    package var chain: [Certificate] { [leaf, intermediate, root] }

    init(
        root: Certificate,
        intermediate: Certificate,
        leaf: Certificate,
        rootKey: PrivateKey,
        intermediateKey: PrivateKey,
        leafKey: PrivateKey
    ) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
        self.rootKey = rootKey
        self.intermediateKey = intermediateKey
        self.leafKey = leafKey
    }

    /// Creates keys and certificates. Each call creates another authority, also with the same options.
    package static func generate(_ options: AuthorityOptions) throws(OpenSSLError) -> TestAuthority {
        let rootKey = try PrivateKey.generate(.p384)
        let intermediateKey = try PrivateKey.generate(.p384)
        let leafKey = try PrivateKey.generate(.p256)
        let strangerKey = options.flaws.isEmpty ? rootKey : try PrivateKey.generate(.p384)
        let root = try rootRequest(options).selfSigned(by: rootKey)
        let intermediate = try intermediateRequest(options).issued(
            for: intermediateKey.publicKey,
            by: root,
            key: options.flaws.contains(.intermediateNotSignedByRoot) ? strangerKey : rootKey
        )
        let leaf = try leafRequest(options).issued(
            for: leafKey.publicKey,
            by: intermediate,
            key: options.flaws.contains(.leafNotSignedByIntermediate) ? strangerKey : intermediateKey
        )
        return TestAuthority(
            root: root,
            intermediate: intermediate,
            leaf: leaf,
            rootKey: rootKey,
            intermediateKey: intermediateKey,
            leafKey: leafKey
        )
    }

    /// Whether the leaf is valid at an instant.
    package func covers(_ instant: Timestamp) -> Bool {
        let second = instant.millisecondsSince1970 / 1000
        return leaf.notBefore <= second && second <= leaf.notAfter
    }

    /// The same root and intermediate with a new leaf and key, valid for the two years around an instant.
    package func renewingLeaf(around instant: Timestamp) throws(OpenSSLError) -> TestAuthority {
        let leafKey = try PrivateKey.generate(.p256)
        let leaf = try Self.leafRequest(AuthorityOptions(around: instant)).issued(
            for: leafKey.publicKey,
            by: intermediate,
            key: intermediateKey
        )
        return TestAuthority(
            root: root,
            intermediate: intermediate,
            leaf: leaf,
            rootKey: rootKey,
            intermediateKey: intermediateKey,
            leafKey: leafKey
        )
    }
}
