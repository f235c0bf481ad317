import AppStore
import Foundation
import RandomJSON
import Randomness
import Testing

struct Base64Tests {
    @Test(
        arguments: [
            ("", []), ("AA", [0]), ("AAA", [0, 0]), ("AAAA", [0, 0, 0]), ("_-8", [255, 239]), ("Zm9vYmFy", Array("foobar".utf8)),
            ("Zg", [102]),
        ] as [(String, [UInt8])]
    )
    func `base64url is decoded`(text: String, bytes: [UInt8]) {
        #expect(Base64URL.decode(Array(text.utf8)) == bytes)
        #expect(Base64URL.encode(bytes) == Array(text.utf8))
    }

    @Test(
        arguments: [
            "A", "AAAAA", "AA==", "AAA=", "A=", "=", "AB", "Zh", "AAB", "AA+A", "AA/A", "AA A", "AA\nAA", "AAAA\n", " AAAA", "AA.A",
            "AAAA\0", "AAé",
            "A\u{C1}AA", "AAA\u{FF}",
        ])
    func `base64url that is not canonical is refused`(text: String) {
        #expect(Base64URL.decode(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AB==", "AAB=", "A===", "====", "=AAA", "AA=A", "AAAA====", "AA-_", "AA==AAAA", "AA==\n", "AAAA\r\nAAAA",
    ])
    func `standard base 64 that is not canonical is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: 1...20)
    func `both alphabets agree with Foundation`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<100 {
            let bytes = generator.bytes(Int.random(in: 0...100, using: &generator))
            let oracle = Data(bytes).base64EncodedString()
            let oracleURL = oracle.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            #expect(Base64.encode(bytes) == oracle, "seed \(seed)")
            #expect(Base64.decode(oracle) == bytes, "seed \(seed)")
            #expect(Base64URL.encode(bytes) == Array(oracleURL.utf8), "seed \(seed)")
            #expect(Base64URL.decode(Array(oracleURL.utf8)[...]) == bytes, "seed \(seed)")
        }
    }

    @Test(arguments: 1...20)
    func `a mutated text is refused or is the canonical text of its bytes`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<500 {
            let bytes = generator.bytes(Int.random(in: 0...30, using: &generator))
            let text = generator.mutate(Base64URL.encode(bytes))
            if let decoded = Base64URL.decode(text) { #expect(Base64URL.encode(decoded) == text, "seed \(seed)") }
            let standard = generator.mutate(Array(Base64.encode(bytes).utf8))
            let decoded = standard.withUnsafeBufferPointer { Base64.decode($0) }
            if let decoded { #expect(Array(Base64.encode(decoded).utf8) == standard, "seed \(seed)") }
        }
    }

    @Test func `every byte outside the alphabet is refused at every position`() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for byte in UInt8.min...UInt8.max where !alphabet.contains(byte) {
            for length in 2...11 where length % 4 != 1 {
                for place in 0..<length {
                    var text = [UInt8](repeating: UInt8(ascii: "A"), count: length)
                    text[place] = byte
                    #expect(Base64URL.decode(text) == nil, "byte \(byte) at \(place) of \(length)")
                }
            }
        }
    }
}
