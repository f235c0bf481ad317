import Foundation

// The functions that libFuzzer calls; `deploy/prove fuzz` links them with it. In the tests nothing calls them.

/// The target that `FUZZ_TARGET` names.
private let target = ProcessInfo.processInfo.environment["FUZZ_TARGET"].flatMap(FuzzTarget.init)

/// Writes the target's seeds to the folder that `FUZZ_SEEDS` names, beside those that are there.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutablePointer<Int32>, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    guard let target else { preconditionFailure("FUZZ_TARGET must be one of \(FuzzTarget.allCases.map(\.rawValue))") }
    guard let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    do {
        for (index, seed) in try target.seeds().enumerated() {
            try Data(seed).write(to: URL(filePath: folder).appending(path: "seed-\(index)"))
        }
    } catch {
        preconditionFailure("the seeds cannot be written: \(error)")
    }
    return 0
}

/// Checks one input; ends the process if it breaks a rule.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    do {
        try target?.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        // libFuzzer reports the crash and keeps the input.
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        abort()
    }
    return 0
}
