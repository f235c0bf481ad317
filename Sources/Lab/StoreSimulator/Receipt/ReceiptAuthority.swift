package import OpenSSL

/// A throw-away certificate authority shaped like the one that Apple signs receipts with: RSA with 2048 bits, and below one root an
/// intermediate and a leaf of each generation, one signed with SHA-1 and one with SHA-256.
///
/// Nothing trusts it unless its root is configured.
package struct ReceiptAuthority: Sendable {
    /// The generations of Apple's receipts.
    package enum Generation: Hashable, Sendable, CaseIterable {
        /// Certificates and receipts signed with SHA-1.
        case sha1
        /// Certificates and receipts signed with SHA-256.
        case sha256

        package var digest: SignatureDigest { self == .sha1 ? .sha1 : .sha256 }
    }

    /// The leaf and intermediate certificates of one generation.
    package struct Chain: Sendable {
        package let leaf: Certificate
        package let intermediate: Certificate
    }

    package let root: Certificate
    let chains: [Generation: Chain]
    let rootKey: PrivateKey
    let intermediateKey: PrivateKey
    let leafKey: PrivateKey

    /// The certificates of one generation.
    package func chain(_ generation: Generation) throws(SimulationError) -> Chain {
        guard let chain = chains[generation] else { throw SimulationError(.invalidOption, "the authority has no such generation") }
        return chain
    }

    /// Creates keys, which takes some tenths of a second, and certificates.
    package static func generate(_ options: AuthorityOptions) throws(OpenSSLError) -> ReceiptAuthority {
        try generate(options, bitCount: 2048)
    }

    /// Creates keys of the given size; Apple's have 2048 bits.
    package static func generate(_ options: AuthorityOptions, bitCount: Int) throws(OpenSSLError) -> ReceiptAuthority {
        try ReceiptAuthority(
            rootKey: .generateRSA(bitCount: bitCount),
            intermediateKey: .generateRSA(bitCount: bitCount),
            leafKey: .generateRSA(bitCount: bitCount),
            options
        )
    }

    /// Creates certificates for the keys. Another root key makes another authority.
    package init(
        rootKey: PrivateKey,
        intermediateKey: PrivateKey,
        leafKey: PrivateKey,
        _ options: AuthorityOptions
    ) throws(OpenSSLError) {
        self.rootKey = rootKey
        self.intermediateKey = intermediateKey
        self.leafKey = leafKey
        // Like Apple's, the root is of the older generation; its own signature proves nothing.
        root = try Self.request(.root, options, .sha1).selfSigned(by: rootKey)
        let misplaced = leafKey
        var chains: [Generation: Chain] = [:]
        for generation in Generation.allCases {
            let intermediate = try Self.request(.intermediate, options, generation).issued(
                for: intermediateKey.publicKey,
                by: root,
                key: options.flaws.contains(.intermediateNotSignedByRoot) ? misplaced : rootKey
            )
            let leaf = try Self.request(.leaf, options, generation).issued(
                for: leafKey.publicKey,
                by: intermediate,
                key: options.flaws.contains(.leafNotSignedByIntermediate) ? misplaced : intermediateKey
            )
            chains[generation] = Chain(leaf: leaf, intermediate: intermediate)
        }
        self.chains = chains
    }

    /// The same keys with certificates of other options. A verifier that trusts the root trusts these certificates, too.
    package func reissued(_ options: AuthorityOptions) throws(OpenSSLError) -> ReceiptAuthority {
        try ReceiptAuthority(rootKey: rootKey, intermediateKey: intermediateKey, leafKey: leafKey, options)
    }
}
