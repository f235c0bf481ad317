import Foundation
import RandomJSON
import Randomness
import StrictJSON
import Testing

struct JSONPropertyTests {
    @Test(arguments: 1...40)
    func `random JSON is serialized and parsed as Foundation parses it`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let value = generator.value(depth: 4)
            let text = JSONSerializer.serialize(value)
            #expect(try JSONParser().parse(text) == value, "seed \(seed)")
            let oracle = try JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
            #expect(agrees(value, oracle), "seed \(seed)")
        }
    }

    @Test(arguments: 1...40)
    func `white space and escapes do not change the value`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let value = generator.value(depth: 3)
            let text = generator.looseText(of: value)
            #expect(try JSONParser().parse(Array(text.utf8)) == value, "seed \(seed)")
        }
    }

    @Test(arguments: 1...40)
    func `mutated text is refused, or parsed to a value that survives a round trip`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<200 {
            let text = generator.mutate(JSONSerializer.serialize(generator.value(depth: 3)))
            guard let value = parsed(text) else { continue }
            #expect(try JSONParser().parse(JSONSerializer.serialize(value)) == value, "seed \(seed)")
            // Foundation accepts some texts that RFC 8259 forbids, so only this direction holds.
            #expect(throws: Never.self, "seed \(seed)") {
                try JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
            }
        }
    }

    @Test(arguments: 1...20)
    func `random bytes never crash the parser`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let alphabet = Array("{}[]\":,\\u0019deE+-. tfnrul\n\u{1}é".utf8)
        for _ in 0..<2000 {
            let count = Int.random(in: 0...40, using: &generator)
            let text = (0..<count).compactMap { _ in alphabet.randomElement(using: &generator) }
            _ = parsed(text)
            _ = parsed(generator.bytes(count))
        }
    }

    private func parsed(_ text: [UInt8]) -> JSONValue? {
        do {
            return try JSONParser().parse(text)
        } catch {
            return nil
        }
    }

    private func agrees(_ value: JSONValue, _ oracle: Any) -> Bool {
        switch value {
        case .null: oracle is NSNull
        case .bool(let flag): (oracle as? NSNumber)?.boolValue == flag
        case .string(let text): (oracle as? String).map { Array($0.utf8) == Array(text.utf8) } ?? false
        case .number(let number): (oracle as? NSNumber).map { $0.doubleValue == Double(number.text) } ?? false
        case .array(let elements):
            (oracle as? [Any]).map { $0.count == elements.count && zip(elements, $0).allSatisfy { agrees($0, $1) } } ?? false
        case .object(let object):
            (oracle as? [String: Any]).map { oracle in
                oracle.count == object.members.count
                    && object.members.allSatisfy { member in oracle[member.name].map { agrees(member.value, $0) } ?? false }
            } ?? false
        }
    }
}
