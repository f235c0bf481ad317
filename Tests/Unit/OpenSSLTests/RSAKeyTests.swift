import OpenSSL
import Testing

struct RSAKeyTests {
    private static let key = Result { try PrivateKey.generateRSA(bitCount: 2048) }
    private let message = Array("a message".utf8)

    @Test(arguments: [SignatureDigest.sha1, .sha256])
    func `a signature verifies with its key, message and digest only`(digest: SignatureDigest) throws {
        let key = try Self.key.get()
        let signature = try key.signRSA(message, digest: digest)
        #expect(signature.count == 256 && key.publicKey.rsaBitCount == 2048)
        #expect(key.publicKey.verifyRSA(signature: signature, message: message, digest: digest))
        #expect(!key.publicKey.verifyRSA(signature: signature, message: message + [0], digest: digest))
        #expect(!key.publicKey.verifyRSA(signature: signature, message: message, digest: digest == .sha1 ? .sha256 : .sha1))
        #expect(!key.publicKey.verifyRSA(signature: [0] + signature, message: message, digest: digest))
        #expect(!key.publicKey.verifyRSA(signature: [], message: message, digest: digest))
        #expect(!(try PrivateKey.generateRSA(bitCount: 2048)).publicKey.verifyRSA(signature: signature, message: message, digest: digest))
    }

    @Test func `RSA and elliptic curve keys refuse each other's operations`() throws {
        let curve = try PrivateKey.generate(.p256)
        #expect(curve.publicKey.rsaBitCount == nil)
        #expect(throws: OpenSSLError.self) { try curve.signRSA(message, digest: .sha256) }
        #expect(!curve.publicKey.verifyRSA(signature: [1], message: message, digest: .sha256))
        let key = try Self.key.get()
        #expect(throws: OpenSSLError.self) { try key.signES256(message) }
        #expect(!key.publicKey.verifyES256(signature: [UInt8](repeating: 1, count: 64), message: message[...]))
    }

    @Test func `a key is unchanged after PEM`() throws {
        let key = try Self.key.get()
        let signature = try PrivateKey(pem: key.pem).signRSA(message, digest: .sha256)
        #expect(key.publicKey.verifyRSA(signature: signature, message: message, digest: .sha256))
    }

    @Test func `secrets of different length or content are unequal`() {
        let secret = Array("22b9d5a110dd4344".utf8)
        #expect(Digest.areEqualInConstantTime(secret, secret) && Digest.areEqualInConstantTime([], []))
        for other in [[], Array(secret.dropLast()), secret + [0], Array(secret.dropLast()) + [0]] {
            #expect(!Digest.areEqualInConstantTime(secret, other))
        }
    }
}
