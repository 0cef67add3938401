//! Files as loggers, spreadsheets and services write them, after their makers' documentation: each is looked at, and read as it
//! was found.

use crate::{Format, Guess, Precision, guess, line_protocol};

/// Looks at a file, reads it, and compares its first record and the number of its records.
fn check(text: &str, format: Format, notes: &[&str], first: &str, count: usize) -> Guess {
    let proposal = guess(text.as_bytes(), format, "m").unwrap().unwrap();
    assert_eq!(proposal.notes, notes, "{text}");
    let records = format
        .read(
            text.as_bytes(),
            Some(&proposal.columns),
            Precision::default(),
        )
        .unwrap_or_else(|mistakes| panic!("{mistakes:?} by {proposal:?}"));
    let mut line = Vec::new();
    line_protocol::write(&records[0], &mut line).unwrap();
    assert_eq!(String::from_utf8(line).unwrap().trim_end(), first);
    assert_eq!(records.len(), count);
    proposal
}

#[test]
fn siemens_wincc_data_log() {
    // SIMATIC WinCC, "Format of the data log files": semicolons, decimal commas, local times.
    let text = "\
\"VarName\";\"TimeString\";\"VarValue\";\"Validity\";\"Time_ms\"\r
\"Temperature\";\"09.03.2020 10:14:33\";21,5;1;43899426770,8333\r
\"Temperature\";\"09.03.2020 10:14:34\";22;1;43899426782,4074\r
\"Temperature\";\"09.03.2020 10:14:35\";22,25;1;43899426793,9815\r
\"Pressure\";\"09.03.2020 10:14:35\";1013,25;1;43899426793,9815\r
\"Pressure\";\"09.03.2020 10:14:36\";1013;1;43899426805,5556\r
";
    check(
        text,
        Format::Csv,
        &[],
        "m,VarName=Temperature VarValue=21.5,Validity=1i,Time_ms=43899426770.8333 1583748873000000000",
        5,
    );
}

#[test]
fn campbell_toa5() {
    // Campbell Scientific, "TOA5 file format": a line about the station, then names, units and processing.
    let text = "\
\"TOA5\",\"CR1000\",\"CR1000\",\"1031\",\"CR1000.Std.20\",\"CPU:Test.CR1\",\"20232\",\"Test\"
\"TIMESTAMP\",\"RECORD\",\"BattV_Avg\",\"PTemp_C_Avg\"
\"TS\",\"RN\",\"Volts\",\"Deg C\"
\"\",\"\",\"Avg\",\"Avg\"
\"2020-03-09 10:14:00\",0,12.73,21.5
\"2020-03-09 10:15:00\",1,12.71,\"NAN\"
\"2020-03-09 10:16:00\",2,12.72,21.25
\"2020-03-09 10:17:00\",3,12.72,21
";
    let proposal = check(
        text,
        Format::Csv,
        &["skip_after_header leaves out 2 lines after the header row"],
        "m RECORD=0i,BattV_Avg=12.73,PTemp_C_Avg=21.5 1583748840000000000",
        4,
    );
    assert_eq!(proposal.columns.layout.skip_lines, 1);
    assert_eq!(proposal.columns.layout.skip_after_header, 2);
    assert_eq!(proposal.columns.missing, ["NAN"]);
}

#[test]
fn onset_hobo() {
    // Onset HOBOware, "Exporting data to a text file": a title, names with units and serial numbers, events without values.
    let text = "\
\"Plot Title: 10234567\"
\"#\",\"Date Time, GMT+00:00\",\"Temp, °C (LGR S/N: 10234567)\",\"End Of File (LGR S/N: 10234567)\"
1,03/09/20 10:14:33 AM,21.569,
2,03/09/20 10:15:33 AM,21.581,
3,03/13/20 10:16:33 PM,21.593,
4,03/13/20 10:17:33 PM,,Logged
";
    check(
        text,
        Format::Csv,
        &[],
        "m #=1i,Temp\\,\\ °C\\ (LGR\\ S/N:\\ 10234567)=21.569 1583748873000000000",
        4,
    );
}

#[test]
fn deutscher_wetterdienst() {
    // Deutscher Wetterdienst, Climate Data Center, hourly air temperature: columns of one width, -999 for no value.
    let text = "\
STATIONS_ID;MESS_DATUM;QN_9;TT_TU;RF_TU;eor
         44;2020030910;    3;   7.9;  81.0;eor
         44;2020030911;    3;   8.4;  -999;eor
         44;2020030912;    3;   9.0;  77.0;eor
         44;2020030913;    3;   9.1;  76.0;eor
";
    check(
        text,
        Format::Csv,
        &["\"-999\" is taken for no value"],
        "m,eor=eor STATIONS_ID=44i,QN_9=3i,TT_TU=7.9,RF_TU=81.0 1583748000000000000",
        4,
    );
}

#[test]
fn spreadsheet_with_date_and_time() {
    // What a spreadsheet of a country with decimal commas saves as CSV; a byte order mark, and a note with semicolons in quotes.
    let text = "\u{feff}Datum;Uhrzeit;Temperatur;Bemerkung\r
09.03.2020;10:14:33;21,5;\"Tür; auf\"\r
09.03.2020;10:14:34;21,6;\r
13.03.2020;10:14:35;;\"Tür \"\"zu\"\"\"\r
";
    let proposal = check(
        text,
        Format::Csv,
        &[],
        "m Temperatur=21.5,Bemerkung=\"Tür; auf\" 1583748873000000000",
        3,
    );
    let time = proposal.columns.time.unwrap();
    assert_eq!(time.columns, ["Datum", "Uhrzeit"]);
}

#[test]
fn home_assistant_history() {
    // Home Assistant, history panel, "Download data".
    let text = "\
entity_id,state,last_changed
sensor.kitchen,21.5,2020-03-09T10:14:33.123Z
sensor.kitchen,unavailable,2020-03-09T10:15:33.123Z
sensor.kitchen,21.7,2020-03-09T10:16:33.123Z
sensor.kitchen,21.8,2020-03-09T10:17:33.123Z
";
    let proposal = check(
        text,
        Format::Csv,
        &[],
        "m,entity_id=sensor.kitchen state=21.5 1583748873123000000",
        3,
    );
    assert!(proposal.columns.skip_empty);
}

#[test]
fn spreadsheet_with_lines_within_names() {
    let text = "\
Plant 3; 5\" disk\r
\"Date\r\nand time\";\"Oven\r\n(°C)\";Door\r
2020-03-09 10:14:33;21,5;open\r
2020-03-09 10:14:34;22,5;shut\r
2020-03-09 10:14:35;22,5;shut\r
";
    let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
    assert_eq!(proposal.columns.layout.skip_lines, 4);
    assert_eq!(proposal.columns.layout.delimiter, Some(';'));
    assert_eq!(proposal.notes.len(), 1, "{proposal:?}");
    let records = Format::Csv
        .read(
            text.as_bytes(),
            Some(&proposal.columns),
            Precision::default(),
        )
        .unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].fields[0].0, "Oven (°C)");
}

#[test]
fn tabs_within_names_are_spaces() {
    let text = "time,\"oven\t1\",\"note\"\n2020-03-09T10:14:33Z,1,\"a\tb\"\n2020-03-09T10:14:34Z,2,\"a\tb\"\n";
    check(
        text,
        Format::Csv,
        &["header has the names of the columns, which have line ends or tabs in the file"],
        "m oven\\ 1=1i,note=\"a\tb\" 1583748873000000000",
        2,
    );
}

#[test]
fn tabs_and_epochs_without_a_header() {
    let text = "1583748873123\t21.5\toven-1\n1583748874123\t22\toven-1\n1583748875123\t23\toven-2\n1583748876123\t23\toven-2\n";
    let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
    assert_eq!(
        proposal.notes,
        ["the file has no header row: name its columns in header"]
    );
    let mut columns = proposal.columns;
    columns.time = Some(crate::TimeColumn {
        format: crate::TimeFormat::Epoch(Precision::Milliseconds),
        ..crate::TimeColumn::of_column("column1")
    });
    let records = Format::Csv
        .read(text.as_bytes(), Some(&columns), Precision::default())
        .unwrap();
    assert_eq!(records.len(), 4);
    assert_eq!(records[0].time_ns, Some(1_583_748_873_123_000_000));
    assert_eq!(records[3].tags, [("column3".into(), "oven-2".into())]);
}

#[test]
fn day_and_month_can_be_mistaken_for_each_other() {
    let text = "time,v\n03/09/2020 10:14:33,1\n03/10/2020 10:14:33,2\n";
    check(
        text,
        Format::Csv,
        &[
            "\"%d/%m/%Y %H:%M:%S%.f\" and \"%m/%d/%Y %H:%M:%S%.f\" both read the times of column \"time\"",
        ],
        "m v=1i 1599128073000000000",
        2,
    );
}

#[test]
fn tasmota_telemetry() {
    // Tasmota, SENSOR messages over MQTT, one a line: local times, objects within objects.
    let text = r#"{"Time":"2020-03-09T10:14:33","Switch1":"ON","ENERGY":{"Power":12,"Voltage":230,"Current":0.052}}
{"Time":"2020-03-09T10:14:43","Switch1":"ON","ENERGY":{"Power":12.5,"Voltage":229,"Current":0.053}}
"#;
    check(
        text,
        Format::Ndjson,
        &[],
        "m,Switch1=ON ENERGY.Power=12.0,ENERGY.Voltage=230i,ENERGY.Current=0.052 1583748873000000000",
        2,
    );
}

#[test]
fn shelly_status() {
    // Shelly Gen2, NotifyStatus: seconds since 1970 with a fraction.
    let text = r#"{"src":"shellyplus1pm-a8","method":"NotifyStatus","params":{"ts":1583748873.12,"switch:0":{"id":0,"apower":12.5}}}
{"src":"shellyplus1pm-a8","method":"NotifyStatus","params":{"ts":1583748933.12,"switch:0":{"id":0,"apower":13}}}
"#;
    check(
        text,
        Format::Ndjson,
        &[],
        "m,src=shellyplus1pm-a8,method=NotifyStatus params.switch:0.id=0i,params.switch:0.apower=12.5 1583748873120000000",
        2,
    );
}

#[test]
fn things_stack_uplink() {
    // The Things Stack, uplink messages: a list of gateways.
    let text = r#"{"end_device_ids":{"device_id":"a"},"received_at":"2020-03-09T10:14:33.5Z","uplink_message":{"decoded_payload":{"t":21.5},"rx_metadata":[{"rssi":-35}]}}
{"end_device_ids":{"device_id":"a"},"received_at":"2020-03-09T10:15:33.5Z","uplink_message":{"decoded_payload":{"t":null},"rx_metadata":[{"rssi":-36}]}}
"#;
    check(
        text,
        Format::Ndjson,
        &[],
        "m,end_device_ids.device_id=a uplink_message.decoded_payload.t=21.5,uplink_message.rx_metadata.0.rssi=-35i 1583748873500000000",
        2,
    );
}

#[test]
fn own_shapes_need_no_columns() {
    let check = |text: &str, format| {
        assert_eq!(guess(text.as_bytes(), format, "m").unwrap(), None, "{text}");
    };
    check("m f=1\n", Format::LineProtocol);
    check(
        r#"{"measurement":"m","fields":{"f":1},"time":1}"#,
        Format::Ndjson,
    );
}

#[test]
fn what_a_guess_must_not_do() {
    let guessed = |text: &str| guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
    let rows = |text: &str, count: usize| text.repeat(count);
    // The delimiter is that of the header, although every row has as many commas.
    let proposal = guessed(&format!("a;b\n{}", rows("1,5;2,5\n", 4)));
    assert_eq!(proposal.columns.layout.delimiter, None);
    assert_eq!(proposal.columns.layout.skip_lines, 0);
    assert_eq!(proposal.columns.layout.decimal, Some(crate::Decimal::Comma));
    // Commas may separate thousands.
    let proposal = guessed(&format!("power,temp\n{}", rows("\"1,234\",21.5\n", 4)));
    assert_eq!(proposal.columns.layout.decimal, None);
    assert_eq!(proposal.notes.len(), 1, "{proposal:?}");
    // Rows without numbers are no lines of units.
    let text = "t,door,temp\n10:00,open,\n10:01,open,NAN\n";
    let proposal = guessed(&format!("{text}{}", rows("10:02,shut,1\n", 6)));
    assert_eq!(proposal.columns.layout.skip_after_header, 0);
    // States are values if there is nothing else.
    let text = "time,state\n2026-01-01T00:00:00Z,open\n2026-01-01T00:00:01Z,shut\n";
    let proposal = guessed(&format!("{text}{}", rows("2026-01-01T00:00:02Z,open\n", 4)));
    assert!(proposal.columns.tags.is_empty() && !proposal.columns.skip_empty);
    // Channels may have numbers for names.
    let text = format!("time,1,2\n{}", rows("2026-01-01T00:00:00Z,5,6\n", 4));
    assert_eq!(guessed(&text).columns.layout.header, None);
    // Trailing delimiters are columns without a name.
    let proposal = guessed(&format!("a;b;;\n{}", rows("1;2;;\n", 4)));
    assert_eq!(proposal.columns.leave_out, [""]);
    // What is a value elsewhere is not left out.
    let text = format!("a,b\n{}unknown,1\n", rows("1,unknown\n2,unknown\n", 3));
    let proposal = guessed(&text);
    assert!(proposal.columns.missing.is_empty(), "{proposal:?}");
}

/// Rows of a logger with a line of units: an empty cell in every column of numbers, and a number with thousands.
#[test]
fn units_above_rows_with_empty_cells() {
    let rows = |rows: std::ops::Range<u32>| -> String {
        rows.map(|row| match row {
            14 => format!("09.03.2020 10:14:{row};;812,5\n"),
            15 => format!("09.03.2020 10:14:{row};21,5;\n"),
            _ => format!("09.03.2020 10:14:{row};21,{row};812,{row}\n"),
        })
        .collect()
    };
    let unit_note = "skip_after_header leaves out 1 line after the header row";
    let first = "m T=21.1,P=812.1 1583748850000000000";
    for count in [2, 3, 4, 5, 6, 31] {
        let text = format!("Zeit;T;P\n;°C;bar\n{}", rows(10..10 + count));
        let proposal = check(&text, Format::Csv, &[unit_note], first, count as usize);
        assert_eq!(proposal.columns.layout.decimal, Some(crate::Decimal::Comma));
    }
    let text = format!(
        "Zeit;T;P\n;°C;bar\n{}09.03.2020 10:15:00;21,5;1.013,5\n",
        rows(10..20)
    );
    check(&text, Format::Csv, &[unit_note], first, 11);
}

#[test]
fn lines_of_values_are_no_lines_of_units() {
    let check = |text: &str| {
        let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
        assert_eq!(proposal.columns.layout.skip_after_header, 0, "{text}");
    };
    // The row has a time.
    check("time,v\n2026-01-01T00:00:00Z,open\n2026-01-01T00:00:01Z,1\n2026-01-01T00:00:02Z,2\n");
    // The text comes again.
    check("device,v\na,open\nb,1\na,2\nb,3\na,open\n");
    // One row does not show what a column has.
    check("device,v\na,open\nb,1\n");
}

#[test]
fn columns_of_texts_with_few_of_them_are_named() {
    let rows =
        |count: u32| -> String { (1..=count).map(|row| format!("{row},x{row}\n")).collect() };
    let check = |text: &str, notes: &[&str]| {
        let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
        assert_eq!(proposal.notes, notes, "{text}");
    };
    check(
        &format!("v,w\n{}ERR,x\n", rows(20)),
        &[
            "column \"v\" is read as texts, because 1 of its 21 cells is no number, such as \"ERR\" in line 22",
        ],
    );
    check(
        &format!("v,w\n{}ERR,x\nOFF,y\n", rows(20)),
        &[
            "column \"v\" is read as texts, because 2 of its 22 cells are no number, such as \"ERR\" in line 22",
        ],
    );
    check(&format!("v,w\n{}NAN,x\n", rows(20)), &[]);
}

#[test]
fn fractions_of_seconds_with_a_comma() {
    let first = "m v=1i 1583748850500000000";
    for text in [
        "Datum;Uhrzeit;v\n09.03.2020;10:14:10,5;1\n13.03.2020;10:14:11,25;2\n",
        "Zeit;v\n09.03.2020 10:14:10,5;1\n13.03.2020 10:14:11,25;2\n",
    ] {
        check(text, Format::Csv, &[], first, 2);
    }
    check(
        "Datum;Uhrzeit;v\n09.03.2020;10 h 14;1\n13.03.2020;10 h 15;2\n",
        Format::Csv,
        &[
            "column \"Datum\" is not read as times, such as \"09.03.2020\" in line 2: time.format is their pattern, and time.zone their zone",
            "column \"Uhrzeit\" is not read as times, such as \"10 h 14\" in line 2: time.format is their pattern, and time.zone their zone",
        ],
        "m Datum=\"09.03.2020\",Uhrzeit=\"10 h 14\",v=1i",
        2,
    );
}

#[test]
fn no_value_changes_silently() {
    let check = |cells: &[&str], value: &str| {
        let text: String = cells
            .iter()
            .map(|cell| format!("\"{cell}\";0.5\n"))
            .collect();
        let text = format!("v;w\n{text}");
        let columns = crate::Columns::of_measurement("m");
        let records = Format::Csv
            .read(text.as_bytes(), Some(&columns), Precision::default())
            .unwrap();
        let mut line = Vec::new();
        line_protocol::write(&records[0], &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line.trim_end(), format!("m v={value},w=0.5"), "{cells:?}");
    };
    check(&["00012345", "99"], "\"00012345\"");
    check(&["+491701234567"], "\"+491701234567\"");
    check(&["+1.5E-03"], "0.0015");
    check(&["\u{2212}5"], "-5i");
    check(&["TRUE", "False"], "true");
    check(&["0", "0.5"], "0.0");
}

#[test]
fn times_that_are_not_read_are_named() {
    let check = |times: &[&str], expected: &str| {
        let rows: String = times.iter().map(|time| format!("{time};1\n")).collect();
        let text = format!("t;v\n{rows}{rows}");
        let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
        assert!(proposal.columns.tags.is_empty(), "{text}");
        let notes = proposal.notes.join("\n");
        assert!(notes.contains(expected), "{text}: {notes}");
    };
    check(
        &["2024-01-01 23:00", "2024-01-01 24:00"],
        "column \"t\" is not read as times, such as \"2024-01-01 24:00\" in line 3: time.format is",
    );
    check(
        &["2024-01-01 00:00:00 CET"],
        "column \"t\" is not read as times",
    );
    check(
        &["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", "-"],
        "because 2 of its 6 cells are no time, such as \"-\"",
    );
    let read = |time: &str, expected: i64| {
        let text = format!("t;v\n{time};1\n");
        let proposal = guess(text.as_bytes(), Format::Csv, "m").unwrap().unwrap();
        let records = Format::Csv
            .read(
                text.as_bytes(),
                Some(&proposal.columns),
                Precision::default(),
            )
            .unwrap();
        assert_eq!(records[0].time_ns, Some(expected * 1_000_000_000), "{time}");
    };
    read("Mon, 01 Jan 2024 00:00:00 GMT", 1_704_067_200);
    read("2024-W01-1", 1_704_067_200);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let records = line_protocol::read("\u{feff}cpu v=1i 5".as_bytes(), Precision::default());
    assert_eq!(records.unwrap()[0].measurement, "cpu");
}
