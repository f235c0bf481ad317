import AppStore
import ArgumentParser
import Foundation
import Logging
import Synchronization
import Testing

@testable import Commands

@Suite struct ServiceLogHandlerTests {
    private let lines = CollectedLines()

    private func logger(_ format: LogSettings.Format, isJournal: Bool, level: Logger.Level = .info) -> Logger {
        logger(format, isJournal: isJournal, level: Reloadable(level))
    }

    private func logger(_ format: LogSettings.Format, isJournal: Bool, level: Reloadable<Logger.Level>) -> Logger {
        Logger(label: "appstore-inbox.worker") { [lines] label in
            ServiceLogHandler(
                label: label,
                level: level,
                style: LogStyle(format: format, isJournal: isJournal),
                output: LogOutput(now: { Timestamp(millisecondsSince1970: 1_700_000_000_007) }, write: { lines.append($0) })
            )
        }
    }

    @Test func `the journal gets a priority and one JSON object`() throws {
        let logger = logger(.auto, isJournal: true)
        logger.error("batch was not committed", metadata: ["error": "a \"b\"\n\\c\u{1}\u{202E}", "ids": ["1", "2"]])
        let line = try #require(lines.all.first)
        #expect(line.hasPrefix("<3>{"))
        #expect(line.unicodeScalars.allSatisfy { $0 != "\u{202E}" }, "a terminal would show the text backwards")
        #expect(line.hasSuffix("}\n") && line.dropLast().allSatisfy { !$0.isNewline })
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.dropFirst(3).utf8)) as? [String: Any])
        #expect(object["level"] as? String == "error")
        #expect(object["logger"] as? String == "appstore-inbox.worker")
        #expect(object["message"] as? String == "batch was not committed")
        let metadata = try #require(object["metadata"] as? [String: Any])
        #expect(metadata["error"] as? String == "a \"b\"\n\\c\u{1}\u{202E}")
        #expect(metadata["ids"] as? [String] == ["1", "2"])
    }

    /// JSON has no priority outside the journal, and text in the journal has no time of its own.
    @Test(
        arguments: [
            (.json, false, #"{"time":"2023-11-14T22:13:20.007Z","level":"warning","logger":"appstore-inbox.worker","message":"up"}"#),
            (.auto, false, "2023-11-14T22:13:20.007Z WARNING: up"), (.text, true, "<4>WARNING: up"),
        ] as [(LogSettings.Format, Bool, String)]
    )
    func `each format has its line`(format: LogSettings.Format, isJournal: Bool, line: String) {
        logger(format, isJournal: isJournal).warning("up")
        #expect(lines.all == [line + "\n"])
    }

    @Test func `text keeps an event on one line`() {
        logger(.auto, isJournal: false).warning("two\nlines", metadata: ["b": "\u{202E}2", "a": "x\ny"])
        #expect(lines.all == [#"2023-11-14T22:13:20.007Z WARNING: two lines a=x y b=\u202e2"# + "\n"])
    }

    @Test func `metadata of the logger, the provider and the event are merged, and the event's wins`() {
        var logger = logger(.text, isJournal: true)
        logger[metadataKey: "lane"] = "1"
        logger[metadataKey: "kept"] = "yes"
        logger.info("x", metadata: ["lane": "2"])
        #expect(lines.all == ["<6>INFO: x kept=yes lane=2\n"])
    }

    @Test func `a new log level is that of every copy of the logger that has no level of its own`() {
        let level = Reloadable(Logger.Level.info)
        let logger = logger(.text, isJournal: true, level: level)
        var (copy, quiet) = (logger, logger)
        copy[metadataKey: "lane"] = "1"
        quiet.logLevel = .error
        level.replace(with: .debug)
        for logger in [logger, copy, quiet] { logger.debug("yes") }
        level.replace(with: .warning)
        for logger in [logger, copy, quiet] { logger.info("no") }
        #expect(lines.all == ["<7>DEBUG: yes\n", "<7>DEBUG: yes lane=1\n"])
    }

    @Test(arguments: zip([Logger.Level.trace, .debug, .info, .notice, .warning, .error, .critical], ["7", "7", "6", "5", "4", "3", "2"]))
    func `each level has its priority in the journal, in JSON and in text`(level: Logger.Level, priority: String) {
        for format in [LogSettings.Format.json, .text] { logger(format, isJournal: true, level: .trace).log(level: level, "x") }
        #expect(lines.all.map { $0.prefix(3) } == ["<\(priority)>", "<\(priority)>"])
    }

    @Test func `each line of a command's failure is an error in the journal`() {
        #expect(LogStyle.failureLines("listen: wrong\napps: missing", isJournal: true) == "<3>listen: wrong\n<3>apps: missing\n")
        #expect(LogStyle.failureLines("listen: wrong\n", isJournal: false) == "listen: wrong\n")
    }

    @Test func `each line of a daemon's failure is an error in its log`() {
        func words(_ format: LogSettings.Format, isJournal: Bool) -> String {
            let style = LogStyle(format: format, isJournal: isJournal)
            return style.failureLines("a \"b\"\nc", label: "appstore-inbox.worker", at: Timestamp(millisecondsSince1970: 1_700_000_000_007))
        }
        let members = #""level":"error","logger":"appstore-inbox.worker","message":"#
        #expect(words(.auto, isJournal: true) == "<3>{\(members)\"a \\\"b\\\"\"}\n<3>{\(members)\"c\"}\n")
        let time = "2023-11-14T22:13:20.007Z"
        #expect(words(.json, isJournal: false).hasSuffix("\n{\"time\":\"\(time)\",\(members)\"c\"}\n"))
        #expect(words(.text, isJournal: true) == "<3>ERROR: a \"b\"\n<3>ERROR: c\n")
        #expect(words(.auto, isJournal: false) == "\(time) ERROR: a \"b\"\n\(time) ERROR: c\n")
    }

    @Test func `a daemon's failure has the log format of its settings, even if other settings are wrong`() throws {
        func words(_ arguments: [String]) throws -> String {
            let worker = try WorkerCommand.parse(arguments)
            let lines = CollectedLines()
            let output = LogOutput(now: { Timestamp(millisecondsSince1970: 0) }, write: { lines.append($0) })
            worker.reportFailure("no", isJournal: false, output: output)
            return lines.all.joined()
        }
        let json = #"{"time":"1970-01-01T00:00:00.000Z","level":"error","logger":"appstore-inbox.worker","message":"no"}"# + "\n"
        #expect(try words(["--log-format", "json", "--log-level", "loud", "--concurrency", "many"]) == json)
        #expect(try words(["--log-format", "xml"]) == "1970-01-01T00:00:00.000Z ERROR: no\n")
        #expect(try words(["--config", "/nonexistent"]) == "1970-01-01T00:00:00.000Z ERROR: no\n")
        #expect(try words(["--log-format", "json", "--check-config"]) == "no\n", "--check-config prints plain text")
    }
}

/// The written lines, in order.
private final class CollectedLines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func append(_ line: String) { lines.withLock { $0.append(line) } }
}
