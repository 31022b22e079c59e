"""Casting texts: two sentences in each language that the model was trained in.

Everyday words, no names, no numbers, no direct speech: nothing that asks for a mood or an accent.
Long enough to judge a voice (8 to 12 s), and with most sounds of the language. Changing a text
casts the voices of its language anew. Knows nothing of voices and engines.
"""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    "ar": (
        "في الصباح الباكر هبّت ريح باردة من فوق التلال، وفاحت في القرية رائحة الخبز. "
        "لم يكن أحد في عجلة، فالوقت كافٍ لكل شيء."
    ),
    "da": (
        "Tidligt om morgenen kom en kølig vind ned over bakkerne, og hele landsbyen duftede af "
        "friskbagt brød. Ingen havde travlt, for der var tid nok til det hele."
    ),
    "de": (
        "Früh am Morgen zog ein kühler Wind über die Hügel, und das ganze Dorf roch nach frischem "
        "Brot. Niemand hatte es eilig, denn für alles war noch genügend Zeit."
    ),
    "el": (
        "Νωρίς το πρωί ένας δροσερός άνεμος κατέβηκε από τους λόφους, και το χωριό μύριζε φρέσκο "
        "ψωμί. Κανείς δεν βιαζόταν, γιατί υπήρχε χρόνος για όλα."
    ),
    "en": (
        "Early in the morning a cool wind came down over the hills, and the whole village smelled "
        "of fresh bread. Nobody was in a hurry, for there was time enough for everything."
    ),
    "es": (
        "A primera hora de la mañana, un viento fresco bajó de las colinas, y todo el pueblo olía "
        "a pan recién hecho. Nadie tenía prisa, pues había tiempo de sobra para todo."
    ),
    "fi": (
        "Varhain aamulla viileä tuuli kävi kukkuloiden yli, ja koko kylässä tuoksui tuore leipä. "
        "Kenelläkään ei ollut kiire, sillä aikaa oli kaikkeen aivan tarpeeksi."
    ),
    "fr": (
        "De bon matin, un vent frais descendit des collines, et tout le village sentait le pain "
        "chaud. Personne n'était pressé, car il y avait bien assez de temps pour tout."
    ),
    "he": (
        "מוקדם בבוקר ירדה רוח קרירה מן הגבעות, וכל הכפר התמלא בריח של לחם טרי. "
        "איש לא מיהר לשום מקום, כי היה די זמן לכל דבר."
    ),
    "hi": (
        "सुबह-सुबह पहाड़ियों से ठंडी हवा आई, और पूरे गाँव में ताज़ी रोटी की खुशबू फैल गई। "
        "किसी को कोई जल्दी नहीं थी, क्योंकि हर काम के लिए काफ़ी समय था।"
    ),
    "id": (
        "Pagi-pagi angin sejuk bertiup dari atas bukit, dan seluruh desa berbau roti yang "
        "baru matang. Tidak ada yang terburu-buru, karena masih ada cukup waktu."
    ),
    "it": (
        "Di buon mattino un vento fresco scese dalle colline, e tutto il paese profumava di pane "
        "appena sfornato. Nessuno aveva fretta, perché c'era tempo a sufficienza per ogni cosa."
    ),
    "ja": (
        "朝早く、丘から涼しい風が吹いてきて、村じゅうに焼きたてのパンの香りが広がりました。"
        "急ぐ人は誰もいません。"
    ),
    "km": (
        "នៅពេលព្រឹកព្រលឹម ខ្យល់ត្រជាក់បានបក់មកពីលើភ្នំ ហើយភូមិទាំងមូលមានក្លិននំប៉័ងថ្មីៗ។ "
        "គ្មាននរណាប្រញាប់ប្រញាល់ទេ ព្រោះមានពេលវេលាគ្រប់គ្រាន់សម្រាប់អ្វីៗទាំងអស់។"
    ),
    "ko": (
        "이른 아침, 언덕에서 시원한 바람이 불어오고 온 마을에 갓 구운 빵 냄새가 퍼졌습니다. "
        "시간이 넉넉해서 서두르는 사람은 없었습니다."
    ),
    "lo": (
        "ໃນຕອນເຊົ້າມືດ ລົມເຢັນໄດ້ພັດລົງມາຈາກເນີນພູ ແລະທົ່ວທັງບ້ານມີກິ່ນຫອມຂອງເຂົ້າຈີ່ໃໝ່. "
        "ບໍ່ມີໃຜຟ້າວ ເພາະມີເວລາພຽງພໍສຳລັບທຸກສິ່ງທຸກຢ່າງ."
    ),
    "ms": (
        "Awal pagi itu angin sejuk bertiup dari atas bukit, dan seluruh kampung berbau roti "
        "baru. Tiada siapa yang tergesa-gesa, kerana masa masih cukup."
    ),
    "my": (
        "မနက်စောစောမှာ တောင်ကုန်းတွေဘက်ကနေ လေအေးလေး တိုက်ခတ်လာပြီး တစ်ရွာလုံး ပေါင်မုန့်နံ့ မွှေးနေတယ်။ "
        "အားလုံးအတွက် အချိန် လုံလုံလောက်လောက် ရှိတာမို့ ဘယ်သူမှ အလျင်မလိုကြဘူး။"
    ),
    "nl": (
        "Vroeg in de ochtend kwam er een koele wind over de heuvels, en het hele dorp rook naar "
        "vers brood. Niemand had haast, want er was voor alles tijd genoeg."
    ),
    "no": (
        "Tidlig om morgenen kom en kjølig vind ned over åsene, og hele bygda luktet av nybakt "
        "brød. Ingen hadde det travelt, for det var tid nok til alt sammen."
    ),
    "pl": (
        "Wczesnym rankiem chłodny wiatr powiał znad wzgórz, a całą wieś wypełnił zapach świeżego "
        "chleba. Nikt się nie spieszył, bo na wszystko było jeszcze dość czasu."
    ),
    "pt": (
        "De manhã cedo, um vento fresco desceu das colinas, e toda a aldeia cheirava a pão "
        "acabado de fazer. Ninguém tinha pressa, porque havia tempo suficiente para tudo."
    ),
    "ru": (
        "Ранним утром с холмов подул прохладный ветер, и вся деревня наполнилась запахом свежего "
        "хлеба. Никто никуда не спешил, ведь времени хватало на всё."
    ),
    "sv": (
        "Tidigt på morgonen kom en sval vind ner över kullarna, och hela byn doftade av nybakat "
        "bröd. Ingen hade bråttom, för det fanns tid nog till allting."
    ),
    "sw": (
        "Asubuhi na mapema upepo wa baridi ulivuma kutoka milimani, na kijiji kizima kilinukia "
        "mkate mpya. Hakuna aliyekuwa na haraka, kwa sababu muda ulitosha."
    ),
    "th": (
        "เช้าตรู่วันนั้น ลมเย็นพัดลงมาจากเนินเขา และทั้งหมู่บ้านก็หอมกลิ่นขนมปังอบใหม่ "
        "ไม่มีใครรีบร้อน เพราะมีเวลามากพอสำหรับทุกสิ่งทุกอย่าง"
    ),
    "tl": (
        "Maagang-maaga pa lang ay umihip na ang malamig na hangin mula sa mga burol, at amoy "
        "bagong tinapay ang buong nayon. Walang nagmamadali, dahil sapat ang oras."
    ),
    "tr": (
        "Sabahın erken saatlerinde tepelerden serin bir rüzgâr esti ve bütün köye taze ekmek "
        "kokusu yayıldı. Kimsenin acelesi yoktu, çünkü her şey için yeterince zaman vardı."
    ),
    "vi": (
        "Sáng sớm, một cơn gió mát thổi qua những ngọn đồi, và cả ngôi làng thơm mùi bánh mì mới "
        "nướng. Không ai vội vàng cả, vì vẫn còn đủ thời gian cho mọi việc."
    ),
    "zh": ("清晨，凉爽的风从山那边吹来，村子里飘着刚出炉的面包香。谁也不着急，因为时间还很充裕。"),
}
"""Casting texts of VoxCPM2's 30 languages, by primary language subtag."""

KIN: Mapping[str, str] = {
    "af": "nl", "be": "ru", "bg": "ru", "ca": "es", "cs": "pl", "et": "fi", "fil": "tl",
    "gl": "pt", "in": "id", "iw": "he", "jv": "id", "mk": "ru", "mr": "hi", "nan": "zh",
    "nb": "no", "ne": "hi", "nn": "no", "ro": "it", "sk": "pl", "uk": "ru", "ur": "hi",
    "wuu": "zh", "yue": "zh",
}  # fmt: skip
"""Nearest of these languages for other languages."""

SAME = frozenset({"fil", "in", "iw", "nan", "nb", "wuu", "yue"})
"""Languages in `KIN` that are other names or spoken forms of the same written language."""
