import OpenSSL
import Testing

struct KeyTests {
    private let message = Array("a message".utf8)

    @Test func `a signature verifies with its key and message only`() throws {
        let key = try PrivateKey.generate(.p256)
        let signature = try key.signES256(message)
        #expect(signature.count == 64)
        #expect(key.publicKey.verifyES256(signature: signature, message: message[...]))
        #expect(!key.publicKey.verifyES256(signature: signature, message: message.dropLast()))
        #expect(!(try PrivateKey.generate(.p256)).publicKey.verifyES256(signature: signature, message: message[...]))
    }

    @Test func `each half of a signature must lie between one and the order of the curve`() throws {
        let key = try PrivateKey.generate(.p256).publicKey
        let zero = [UInt8](repeating: 0, count: 32)
        let one: [UInt8] = Array(zero.dropLast()) + [1]
        let order = OrderArithmetic.order
        let wrong: [[UInt8]] = [zero + one, one + zero, order + one, one + order, [], one, one + one + [0]]
        for signature in wrong {
            #expect(!key.verifyES256(signature: signature, message: message[...]))
        }
    }

    @Test func `both s and n - s verify`() throws {
        let key = try PrivateKey.generate(.p256)
        let signature = try key.signES256(message)
        let negated = Array(signature[..<32]) + OrderArithmetic.negated(Array(signature[32...]))
        #expect(key.publicKey.verifyES256(signature: negated, message: message[...]))
    }

    @Test func `only P-256 keys make and verify ES256 signatures`() throws {
        let key = try PrivateKey.generate(.p384)
        #expect(!key.publicKey.isP256)
        #expect(throws: OpenSSLError.self) { try key.signES256(message) }
        #expect(!key.publicKey.verifyES256(signature: try PrivateKey.generate(.p256).signES256(message), message: message[...]))
    }

    @Test func `a key is unchanged after PEM`() throws {
        let key = try PrivateKey.generate(.p256)
        let read = try PrivateKey(pem: key.pem)
        #expect(key.publicKey.verifyES256(signature: try read.signES256(message), message: message[...]))
    }

    @Test(arguments: ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", encrypted, ed25519])
    func `anything but an unencrypted elliptic curve key is refused without a password prompt`(pem: String) {
        #expect(throws: OpenSSLError.self) { try PrivateKey(pem: pem) }
    }

    @Test func `concurrent threads can verify with one key`() async throws {
        let key = try PrivateKey.generate(.p256)
        let signature = try key.signES256(message)
        let message = message
        let genuine = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<200).count { _ in key.publicKey.verifyES256(signature: signature, message: message[...]) } }
            }
            return await group.reduce(0, +)
        }
        #expect(genuine == 1600)
    }

    @Test func `digests agree with the published examples`() {
        let abc = Array("abc".utf8)
        #expect(Digest.sha256(abc) == HexBytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad").bytes)
        #expect(Digest.sha256([]) == HexBytes("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").bytes)
        #expect(Digest.sha1(abc) == HexBytes("a9993e364706816aba3e25717850c26c9cd0d89d").bytes)
    }

    private static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjusZ5AIPskbgICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEENSiYCxwmAEnElOuUH1+cW8EgZAM
        2XpZ4WQ0Ocy46fc4XPx9HTwT+cC8Acnxc/mXpFrKNGNlMlk9Y26gcrICjsm6SdjW
        qx+Hw/p/ftpKwoYlJCp03vkDC6LLj8yQHQPnGIqJmoEwA1a2NfhCS2npVZteNNA6
        Zqf104QIosXXcbmg0pk74PvLi7laqnf/17d1FcnzTjWn0oIvqWVYRMUu7lAABhc=
        -----END ENCRYPTED PRIVATE KEY-----
        """

    private static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEILAkhjGmuMsE55XnhvtObylxikVWL6JuWaWLsA3zpYhs
        -----END PRIVATE KEY-----
        """
}
